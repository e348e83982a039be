/* Runs a fuzz target over the files of a folder, once each: the seeds as a plain test, under any compiler.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 20 };

/* The input lies in a block of exactly its size, so that a read past its end is seen by the sanitizers. */
static int run_file(const char *path) {
    static uint8_t buffer[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    size_t length = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    uint8_t *input = malloc(length > 0 ? length : 1);
    if (input == NULL)
        return -1;
    for (size_t i = 0; i < length; i++)
        input[i] = buffer[i];
    int result = LLVMFuzzerTestOneInput(input, length);
    free(input);
    return result;
}

static int is_input(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int run_folder(const char *folder) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_input, alphasort);
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (run_file(path) < 0) {
            printf("# %s cannot be read or was refused\n", path);
            failed++;
        }
        free(entries[i]);
    }
    free(entries);
    printf("%sok 1 - %d inputs\n", count > 0 && failed == 0 ? "" : "not ", count > 0 ? count : 0);
    return count > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..1\n");
    return run_folder(argv[1]);
}
