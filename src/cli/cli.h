/* The command line: its commands, its options, and what both share.
 *
 * Each command is a row of the table in main.c, each option a row of the table in options.c. Parsing, --help,
 * the man page and shell completion all read those rows; nothing is described twice.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_H
#define INRO__CLI_H

#include <inro/inro.h>

/* What the command says to its caller when it ends. */
enum inro__cli_exit {
    INRO__CLI_OK = 0,
    INRO__CLI_FAILED = 1, /* the script, a service or the host failed */
    INRO__CLI_USAGE = 2,  /* the command line was wrong and nothing ran */
    INRO__CLI_TRAP = 3    /* the guest was stopped */
};

/* Which commands an option belongs to, as bits. TOP stands for `inro` without a command. */
enum inro__cli_scope {
    INRO__CLI_TOP = 1,
    INRO__CLI_EVAL = 2,
    INRO__CLI_RUN_ENTRY = 4,
    INRO__CLI_DOCTOR = 8,
    INRO__CLI_OTHER = 16,
    INRO__CLI_SANDBOX = INRO__CLI_EVAL | INRO__CLI_RUN_ENTRY,
    INRO__CLI_EVERY = INRO__CLI_TOP | INRO__CLI_SANDBOX | INRO__CLI_DOCTOR | INRO__CLI_OTHER
};

/* An option that may be given more than once, in the order given. */
enum inro__cli_item_kind { INRO__CLI_PRELOAD, INRO__CLI_PRELOAD_BYTECODE, INRO__CLI_SERVICE, INRO__CLI_KWARG };

/* One such option: NAME=TEXT, or TEXT alone with no name. Both are views of the command line. */
struct inro__cli_item {
    enum inro__cli_item_kind kind;
    inro_str name;
    const char *text;
};

/* The command line, understood. */
struct inro__cli_settings {
    inro_sandbox_options sandbox;
    const char *file; /* -f, or NULL */
    bool json;
    bool help;
    bool version;
    bool dump_man;
    struct inro__cli_item *items;
    size_t items_count;
    char **operands;
    size_t operands_count;
};

/* A term and what it means; the last row's term is NULL. */
struct inro__cli_term {
    const char *term;
    const char *text;
};

struct inro__cli_command {
    const char *name;
    unsigned scope;
    const char *usage;                     /* what follows the name on the usage line */
    const char *summary;                   /* one line, no full stop */
    const char *text;                      /* paragraphs, separated by a blank line */
    const struct inro__cli_term *examples; /* a command line and what it shows; may be NULL */
    int (*run)(const struct inro__cli_settings *settings);
};

/* Takes the option's value (NULL for a flag). Answers NULL, or what is wrong with it, to follow the value in a
 * sentence: "is not ...". */
typedef const char *(*inro__cli_option_fn)(struct inro__cli_settings *settings, const char *value);

struct inro__cli_option {
    const char *name;
    char letter; /* 0: none */
    bool repeats;
    unsigned scope;             /* enum inro__cli_scope bits; 0: hidden, top only */
    const char *value;          /* what help calls the value; NULL: the option is a flag */
    const char *fallback;       /* the value when not given; taken through `set` like any other; NULL: none */
    const char *const *choices; /* all values there are, ends with NULL; NULL: not a choice */
    inro__cli_option_fn set;
    const char *help;
};

/* The tables; each ends with a row whose name is NULL. The first command is `inro` itself. */
extern const struct inro__cli_command inro__cli_commands[];
extern const struct inro__cli_option inro__cli_options[];

/* The command of that name, or NULL. */
const struct inro__cli_command *inro__cli_command_find(const char *name);

/* Understands `words` (count of them, command name not among them). Prints what is wrong and answers
 * INRO__CLI_USAGE, or answers INRO__CLI_OK; free with inro__cli_settings_done in both cases. */
int inro__cli_parse(const struct inro__cli_command *command, int count, char **words,
                    struct inro__cli_settings *out);
void inro__cli_settings_done(struct inro__cli_settings *settings);

/* Prints "inro COMMAND: what is wrong", the usage line and where help is; answers INRO__CLI_USAGE. */
int inro__cli_misuse(const struct inro__cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull));

/* Prints "inro: what failed" on standard error and answers INRO__CLI_FAILED. */
int inro__cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull));

/* The same for a failure of the library; wrong arguments are answered with INRO__CLI_USAGE. */
int inro__cli_fail_error(const char *context, const inro_error *err);

/* Numbers as people write them; NULL or what is wrong, as inro__cli_option_fn. "none" gives INRO_UNLIMITED. */
const char *inro__cli_read_size(const char *text, uint64_t *bytes);
const char *inro__cli_read_seconds(const char *text, uint64_t *microseconds);

/* The candidate closest to `word`, so near that it may have been meant, or NULL. `next` gives the candidates
 * one after the other, NULL at the end. */
const char *inro__cli_suggest(const char *word, const char *(*next)(void *state), void *state);

/* The commands. */
int inro__cli_eval(const struct inro__cli_settings *settings);
int inro__cli_run_entry(const struct inro__cli_settings *settings);
int inro__cli_doctor(const struct inro__cli_settings *settings);
int inro__cli_help(const struct inro__cli_settings *settings);
int inro__cli_version(const struct inro__cli_settings *settings);
int inro__cli_completion(const struct inro__cli_settings *settings);

/* The pages made from the tables, written to standard output. */
int inro__cli_show_help(const struct inro__cli_command *command);
int inro__cli_show_man(void);

#endif
