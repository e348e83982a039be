/* inro doctor: says what works on this host, and what to type where it does not.
 *
 * One row for each thing that is looked at. A check that fails stops nothing: the others may say why.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

enum grade { GRADE_OK, GRADE_WARN, GRADE_FAIL };

/* What a check found. `next` is what to type, "" when nothing has to be done. */
struct finding {
    enum grade grade;
    char found[320];
    const char *next;
};

struct check {
    const char *name;
    void (*look)(struct finding *finding);
};

#define HWCAP2_FSGSBASE_BIT 2ul
/* A guest reserves 8 GiB; some of them at once are everyday use. */
#define ADDRESS_SPACE_LEAST ((rlim_t)16 << 30)
#define ADDRESS_SPACE_PLENTY ((rlim_t)256 << 30)
#define MAP_COUNT_USUAL 65530

/* Warm: the first invocation also sets the pool of guests up. */
static bool time_eval(inro_sandbox *sandbox, uint64_t *nanoseconds, inro_error *err) {
    inro_outcome *outcome = NULL;
    uint64_t start = inro__cli_now();
    if (inro_sandbox_eval(sandbox, INRO_STR("6 * 7"), NULL, &outcome, err) != INRO_OK)
        return false;
    *nanoseconds = inro__cli_now() - start;
    bool right = inro_value_get_int(inro_outcome_value(outcome)) == 42;
    if (!right)
        snprintf(err->message, sizeof err->message, "a script that should give 42 does not");
    inro_outcome_free(outcome);
    return right;
}

static void look_at_sandbox(struct finding *finding) {
    enum { TURNS = 20 };
    inro_sandbox *sandbox = NULL;
    inro_error err = {.status = INRO_OK};
    uint64_t first = 0, best = UINT64_MAX, last = 0;
    bool works = inro_sandbox_new(NULL, &sandbox, &err) == INRO_OK && time_eval(sandbox, &first, &err);
    for (int i = 0; works && i < TURNS; i++) {
        works = time_eval(sandbox, &last, &err);
        best = last < best ? last : best;
    }
    inro_sandbox_free(sandbox);
    if (works) {
        snprintf(finding->found, sizeof finding->found,
                 "a script runs in %" PRIu64 ".%" PRIu64 " us, the process's first in %" PRIu64 " us",
                 best / 1000, best / 100 % 10, first / 1000);
        return;
    }
    finding->grade = GRADE_FAIL;
    finding->next = "see the rows below; inro eval 1 shows the same failure";
    snprintf(finding->found, sizeof finding->found, "%s", err.message);
}

static void look_at_processor(struct finding *finding) {
    bool there = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT;
    snprintf(finding->found, sizeof finding->found, there ? "FSGSBASE" : "no FSGSBASE");
    if (there)
        return;
    finding->grade = GRADE_FAIL;
    finding->next =
        "boot Linux 5.9 or newer without nofsgsbase; a virtual machine: pass the host's processor through";
}

static void look_at_kernel(struct finding *finding) {
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name) != 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) { // NOLINT(cert-err34-c)
        finding->grade = GRADE_WARN;
        finding->next = "uname -r";
        snprintf(finding->found, sizeof finding->found, "of unknown version");
        return;
    }
    snprintf(finding->found, sizeof finding->found, "%s %s", name.sysname, name.release);
    if (major > 6 || (major == 6 && minor >= 1))
        return;
    finding->grade = GRADE_WARN;
    finding->next = "uname -r; inro is tested on Linux 6.1 and newer";
}

static void look_at_address_space(struct finding *finding) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        snprintf(finding->found, sizeof finding->found, "unlimited");
        return;
    }
    snprintf(finding->found, sizeof finding->found, "limited to %" PRIu64 " MiB; a guest reserves 8 GiB",
             (uint64_t)limit.rlim_cur >> 20);
    if (limit.rlim_cur >= ADDRESS_SPACE_PLENTY)
        return;
    finding->grade = limit.rlim_cur < ADDRESS_SPACE_LEAST ? GRADE_FAIL : GRADE_WARN;
    finding->next = "ulimit -v unlimited";
}

/* The number in a file of /proc/sys; -1 when there is none. */
static long long read_number(const char *file) {
    char text[32] = "";
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd == -1 ? -1 : read(fd, text, sizeof text - 1);
    if (fd != -1)
        close(fd);
    char *end = text;
    errno = 0;
    long long number = length > 0 ? strtoll(text, &end, 10) : -1;
    return end == text || errno != 0 ? -1 : number;
}

static void unreadable(struct finding *finding, const char *next) {
    finding->grade = GRADE_WARN;
    finding->next = next;
    snprintf(finding->found, sizeof finding->found, "unknown, /proc/sys cannot be read");
}

static void look_at_overcommit(struct finding *finding) {
    long long mode = read_number("/proc/sys/vm/overcommit_memory");
    if (mode < 0) {
        unreadable(finding, "mount -t proc proc /proc");
        return;
    }
    snprintf(finding->found, sizeof finding->found, "vm.overcommit_memory = %lld", mode);
    if (mode != 2)
        return;
    finding->grade = GRADE_WARN;
    finding->next = "sysctl vm.overcommit_memory=0; with 2 memory that many guests only reserve may be refused";
}

static void look_at_mappings(struct finding *finding) {
    long long most = read_number("/proc/sys/vm/max_map_count");
    if (most < 0) {
        unreadable(finding, "mount -t proc proc /proc");
        return;
    }
    snprintf(finding->found, sizeof finding->found, "vm.max_map_count = %lld", most);
    if (most >= MAP_COUNT_USUAL)
        return;
    finding->grade = GRADE_WARN;
    finding->next = "sysctl vm.max_map_count=65530; each guest in use takes some hundred mappings";
}

static const struct check checks[] = {
    {"sandbox", look_at_sandbox},       {"processor", look_at_processor},
    {"kernel", look_at_kernel},         {"address space", look_at_address_space},
    {"overcommit", look_at_overcommit}, {"mappings", look_at_mappings},
};
enum { CHECKS_COUNT = sizeof checks / sizeof checks[0] };

static const char *const grade_names[] = {[GRADE_OK] = "ok", [GRADE_WARN] = "warn", [GRADE_FAIL] = "fail"};

static void show_rows(const struct finding *findings) {
    static const enum inro__cli_style styles[] = {
        [GRADE_OK] = INRO__CLI_GOOD, [GRADE_WARN] = INRO__CLI_WARN, [GRADE_FAIL] = INRO__CLI_BAD};
    for (size_t i = 0; i < CHECKS_COUNT; i++) {
        inro__cli_show_style(STDOUT_FILENO, styles[findings[i].grade]);
        inro__cli_show_format(STDOUT_FILENO, "%-4s", grade_names[findings[i].grade]);
        inro__cli_show_style(STDOUT_FILENO, INRO__CLI_PLAIN);
        inro__cli_show_format(STDOUT_FILENO, "  %-14s %s\n", checks[i].name, findings[i].found);
        if (*findings[i].next)
            inro__cli_show_format(STDOUT_FILENO, "      next: %s\n", findings[i].next);
    }
}

static void add_member(inro_value *map, const char *key, inro_value *value) {
    if (inro_value_map_put(map, inro_value_new_text(inro_str_from_c(key)), value) != INRO_OK)
        inro__cli_no_memory();
}

static inro_value *text_value(const char *text) {
    return inro_value_new_text(inro_str_from_c(text));
}

static inro_value *make_row(const struct check *check, const struct finding *finding) {
    inro_value *row = inro_value_new_map();
    add_member(row, "name", text_value(check->name));
    add_member(row, "status", text_value(grade_names[finding->grade]));
    add_member(row, "found", text_value(finding->found));
    add_member(row, "next", *finding->next ? text_value(finding->next) : inro_value_new_nil());
    return row;
}

static int show_json(const struct finding *findings, bool works) {
    inro_value *page = inro_value_new_map(), *rows = inro_value_new_array();
    for (size_t i = 0; i < CHECKS_COUNT; i++)
        if (inro_value_array_push(rows, make_row(&checks[i], &findings[i])) != INRO_OK)
            inro__cli_no_memory();
    add_member(page, "ok", inro_value_new_bool(works));
    add_member(page, "version", text_value(inro_version()));
    add_member(page, "checks", rows);
    char *json = NULL;
    size_t length = 0;
    inro_error err = {.status = INRO_OK};
    inro_status status = inro_value_to_json(page, &json, &length, &err);
    inro_value_free(page);
    if (status != INRO_OK)
        return inro__cli_fail_error("doctor", &err);
    inro__cli_show(STDOUT_FILENO, json, length);
    inro__cli_show_text(STDOUT_FILENO, "\n");
    inro_text_free(json);
    return INRO__CLI_OK;
}

int inro__cli_doctor(const struct inro__cli_settings *settings) {
    struct finding findings[CHECKS_COUNT];
    bool works = true;
    if (settings->operands_count > 0)
        return inro__cli_misuse(inro__cli_command_find("doctor"), "\"%s\" is one word too many",
                                settings->operands[0]);
    for (size_t i = 0; i < CHECKS_COUNT; i++) {
        findings[i] = (struct finding){.grade = GRADE_OK, .found = "", .next = ""};
        checks[i].look(&findings[i]);
        works = works && findings[i].grade != GRADE_FAIL;
    }
    int status = INRO__CLI_OK;
    if (settings->json)
        status = show_json(findings, works);
    else
        show_rows(findings);
    return status == INRO__CLI_OK && !works ? INRO__CLI_FAILED : status;
}
