/* The three jumps between host and guest. x86-64, System V ABI.
 *
 * inro__protect keeps the callee-saved registers and the stack pointer in a frame, moves to another stack if
 * it is given one, and calls. inro__unwind comes back to that frame from any depth and any stack: it uses
 * nothing but the frame, so a fault handler may make a thread continue in it. inro__call_host runs a function
 * on the stack where the guest was entered, because host code (a garbage collector, an unwinder, a stack
 * check) must find the stack it knows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifdef __x86_64__

        .text

/* int inro__protect(struct inro__frame *frame, void *stack, void (*call)(void *), void *argument)
 * 0 when `call` returned, else the value that inro__unwind was given. `stack` NULL: stay on this one. */
        .globl  inro__protect
        .hidden inro__protect
        .type   inro__protect, @function
inro__protect:
        .cfi_startproc
        endbr64
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        push    %rbx
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        sub     $8, %rsp
        mov     %rsp, (%rdi)
        test    %rsi, %rsi
        jz      1f
        mov     %rsi, %rsp
1:      mov     %rcx, %rdi
        call    *%rdx
        xor     %eax, %eax
        lea     -48(%rbp), %rsp
.Lleave:
        add     $8, %rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbx
        pop     %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   inro__protect, .-inro__protect

/* _Noreturn void inro__unwind(struct inro__frame *frame, int value) */
        .globl  inro__unwind
        .hidden inro__unwind
        .type   inro__unwind, @function
inro__unwind:
        endbr64
        mov     %esi, %eax
        mov     (%rdi), %rsp
        cld
        jmp     .Lleave
        .size   inro__unwind, .-inro__unwind

/* void inro__call_host(void *stack, void (*call)(void *), void *argument, void **left)
 * *left is where the stack ended that is left: nothing below it is in use. */
        .globl  inro__call_host
        .hidden inro__call_host
        .type   inro__call_host, @function
inro__call_host:
        .cfi_startproc
        endbr64
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        mov     %rsp, (%rcx)
        mov     %rdi, %rsp
        mov     %rdx, %rdi
        call    *%rsi
        mov     %rbp, %rsp
        pop     %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   inro__call_host, .-inro__call_host

#endif

        .section .note.GNU-stack, "", @progbits
