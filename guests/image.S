/* The booted guest's memory as read-only data on pages of its own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
        .section .rodata.inro_image, "a", @progbits
        .balign 4096
        .globl  IMAGE_NAME
        .hidden IMAGE_NAME
IMAGE_NAME:
        .incbin IMAGE_FILE
        .balign 4096
        .section .note.GNU-stack, "", @progbits
