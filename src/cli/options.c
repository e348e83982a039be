/* The table of options, and the reader of command lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

static const char *set_help(struct inro__cli_settings *settings, const char *value) {
    (void)value;
    settings->help = true;
    return NULL;
}

static const char *set_version(struct inro__cli_settings *settings, const char *value) {
    (void)value;
    settings->version = true;
    return NULL;
}

static const char *set_dump_man(struct inro__cli_settings *settings, const char *value) {
    (void)value;
    settings->dump_man = true;
    return NULL;
}

static const char *set_json(struct inro__cli_settings *settings, const char *value) {
    (void)value;
    settings->json = true;
    return NULL;
}

static const char *set_file(struct inro__cli_settings *settings, const char *value) {
    settings->file = value;
    return *value ? NULL : "is not a file name";
}

static const char *set_timeout(struct inro__cli_settings *settings, const char *value) {
    return inro__cli_read_seconds(value, &settings->sandbox.timeout_us);
}

static const char *set_memory(struct inro__cli_settings *settings, const char *value) {
    return inro__cli_read_size(value, &settings->sandbox.memory_limit_bytes);
}

static const char *set_stdout_limit(struct inro__cli_settings *settings, const char *value) {
    return inro__cli_read_size(value, &settings->sandbox.stdout_limit_bytes);
}

static const char *set_stderr_limit(struct inro__cli_settings *settings, const char *value) {
    return inro__cli_read_size(value, &settings->sandbox.stderr_limit_bytes);
}

static const char *const profiles[] = {
    [INRO_PROFILE_HERMETIC] = "hermetic", [INRO_PROFILE_PERMISSIVE] = "permissive", NULL};

static const char *set_profile(struct inro__cli_settings *settings, const char *value) {
    for (size_t i = 0; profiles[i]; i++) {
        if (strcmp(profiles[i], value) == 0) {
            settings->sandbox.profile = i;
            return NULL;
        }
    }
    return "is not a profile; there are hermetic and permissive";
}

static void add_item(struct inro__cli_settings *settings, enum inro__cli_item_kind kind, inro_str name,
                     const char *text) {
    settings->items[settings->items_count++] =
        (struct inro__cli_item){.kind = kind, .name = name, .text = text};
}

/* What stands before the first '='; {NULL, 0} when there is none. */
static inro_str name_before_equals(const char *value) {
    const char *equals = strchr(value, '=');
    return equals ? (inro_str){value, (size_t)(equals - value)} : (inro_str){NULL, 0};
}

static bool is_constant(inro_str name) {
    for (size_t i = 0; i < name.length; i++) {
        char byte = name.data[i];
        bool upper = byte >= 'A' && byte <= 'Z', digit = byte >= '0' && byte <= '9';
        if (!upper && (i == 0 || !(digit || byte == '_' || (byte >= 'a' && byte <= 'z'))))
            return false;
    }
    return name.length > 0;
}

/* A file's name may contain '='; only a constant before it is a snippet's name. */
static const char *set_preload(struct inro__cli_settings *settings, const char *value) {
    inro_str name = name_before_equals(value);
    bool named = is_constant(name);
    const char *file = named ? value + name.length + 1 : value;
    add_item(settings, INRO__CLI_PRELOAD, named ? name : (inro_str){NULL, 0}, file);
    return *file ? NULL : "names no file";
}

static const char *set_preload_bytecode(struct inro__cli_settings *settings, const char *value) {
    add_item(settings, INRO__CLI_PRELOAD_BYTECODE, (inro_str){NULL, 0}, value);
    return *value ? NULL : "is not a file name";
}

static const char *set_service(struct inro__cli_settings *settings, const char *value) {
    inro_str name = name_before_equals(value);
    if (name.length == 0)
        return "is not NAME='PROGRAM ARGS'; example: KV::Lookup='python3 lookup.py'";
    add_item(settings, INRO__CLI_SERVICE, name, value + name.length + 1);
    return NULL;
}

static const char *set_kwarg(struct inro__cli_settings *settings, const char *value) {
    inro_str name = name_before_equals(value);
    if (name.length == 0)
        return "is not NAME=VALUE; example: limit=10";
    add_item(settings, INRO__CLI_KWARG, name, value + name.length + 1);
    return NULL;
}

const struct inro__cli_option inro__cli_options[] = {
    {.name = "file",
     .letter = 'f',
     .scope = INRO__CLI_EVAL,
     .value = "FILE",
     .set = set_file,
     .help = "Read the script from FILE; - is standard input."},
    {.name = "json",
     .scope = INRO__CLI_SANDBOX | INRO__CLI_DOCTOR,
     .set = set_json,
     .help = "Print one JSON record on standard output and nothing else; a script's output is part of it."},
    {.name = "timeout",
     .scope = INRO__CLI_SANDBOX,
     .value = "SECONDS",
     .fallback = "60",
     .set = set_timeout,
     .help = "Stop the script after this much wall-clock time, services included; decimals are fine, none "
             "switches the limit off."},
    {.name = "memory",
     .scope = INRO__CLI_SANDBOX,
     .value = "SIZE",
     .fallback = "1M",
     .set = set_memory,
     .help = "How far the script may grow its memory. Sizes are bytes, or end in K, M or G; none switches "
             "the limit off."},
    {.name = "stdout-limit",
     .scope = INRO__CLI_SANDBOX,
     .value = "SIZE",
     .fallback = "1M",
     .set = set_stdout_limit,
     .help = "How much the script may write to its standard output; the rest is cut."},
    {.name = "stderr-limit",
     .scope = INRO__CLI_SANDBOX,
     .value = "SIZE",
     .fallback = "1M",
     .set = set_stderr_limit,
     .help = "How much the script may write to its standard error; the rest is cut."},
    {.name = "profile",
     .scope = INRO__CLI_SANDBOX,
     .value = "PROFILE",
     .fallback = "hermetic",
     .choices = profiles,
     .set = set_profile,
     .help = "What of the world the script sees: nothing (hermetic), or a clock and entropy (permissive)."},
    {.name = "preload",
     .repeats = true,
     .scope = INRO__CLI_SANDBOX,
     .value = "[NAME=]FILE",
     .set = set_preload,
     .help = "Run the source in FILE before the script. NAME is its name in backtraces; without one the "
             "file's name is taken: kv_store.rb is KvStore."},
    {.name = "preload-bytecode",
     .repeats = true,
     .scope = INRO__CLI_SANDBOX,
     .value = "FILE",
     .set = set_preload_bytecode,
     .help = "Run the compiled bytecode (RITE) in FILE before the script."},
    {.name = "service",
     .repeats = true,
     .scope = INRO__CLI_SANDBOX,
     .value = "NAME='PROGRAM ARGS'",
     .set = set_service,
     .help = "Let the script call PROGRAM at the constant NAME: it gets one JSON object on its standard "
             "input and prints one JSON value."},
    {.name = "kwarg",
     .repeats = true,
     .scope = INRO__CLI_RUN_ENTRY,
     .value = "NAME=VALUE",
     .set = set_kwarg,
     .help = "Pass a keyword argument; VALUE is JSON where it parses as JSON, else a text."},
    {.name = "version",
     .letter = 'V',
     .scope = INRO__CLI_TOP,
     .set = set_version,
     .help = "Print the version and end."},
    {.name = "help",
     .letter = 'h',
     .scope = INRO__CLI_EVERY,
     .set = set_help,
     .help = "Print this help and end."},
    {.name = "dump-man", .scope = 0, .set = set_dump_man, .help = "Print the manual page's source."},
    {.name = NULL},
};

static bool belongs(const struct inro__cli_option *option, unsigned scope) {
    return (option->scope & scope) || (option->scope == 0 && scope == INRO__CLI_TOP);
}

struct reader {
    const struct inro__cli_command *command;
    struct inro__cli_settings *settings;
    char **words;
    int count;
    int at;
};

static const struct inro__cli_option *find_long(const struct reader *reader, const char *name, size_t length) {
    for (const struct inro__cli_option *option = inro__cli_options; option->name; option++)
        if (belongs(option, reader->command->scope) && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const struct inro__cli_option *find_letter(const struct reader *reader, char letter) {
    for (const struct inro__cli_option *option = inro__cli_options; option->name; option++)
        if (belongs(option, reader->command->scope) && option->letter == letter)
            return option;
    return NULL;
}

struct name_cursor {
    const struct inro__cli_option *option;
    unsigned scope;
};

static const char *next_option_name(void *state) {
    struct name_cursor *cursor = state;
    while (cursor->option->name && !(cursor->option->scope & cursor->scope))
        cursor->option++;
    return cursor->option->name ? cursor->option++->name : NULL;
}

static int unknown_long(const struct reader *reader, const char *name, size_t length) {
    struct name_cursor cursor = {inro__cli_options, reader->command->scope};
    struct inro__cli_text word = {0};
    inro__cli_text_add(&word, name, length);
    const char *meant = inro__cli_suggest(inro__cli_text_string(&word), next_option_name, &cursor);
    int status = meant ? inro__cli_misuse(reader->command, "unknown option \"--%s\"; did you mean --%s?",
                                          word.data, meant)
                       : inro__cli_misuse(reader->command, "unknown option \"--%s\"", word.data);
    inro__cli_text_done(&word);
    return status;
}

/* `value` is what is attached to the option; NULL: the next word is taken when the option wants one. */
static int apply(struct reader *reader, const struct inro__cli_option *option, const char *value) {
    if (!option->value && value)
        return inro__cli_misuse(reader->command, "--%s takes no value", option->name);
    if (option->value && !value) {
        if (reader->at == reader->count)
            return inro__cli_misuse(reader->command, "--%s needs a value: %s", option->name, option->value);
        value = reader->words[reader->at++];
    }
    const char *problem = option->set(reader->settings, value);
    if (problem)
        return inro__cli_misuse(reader->command, "--%s: \"%s\" %s", option->name, value ? value : "", problem);
    return INRO__CLI_OK;
}

static int read_long(struct reader *reader, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct inro__cli_option *option = find_long(reader, word, length);
    return option ? apply(reader, option, equals ? equals + 1 : NULL) : unknown_long(reader, word, length);
}

/* -f FILE, -fFILE, and flags in one word. */
static int read_letters(struct reader *reader, const char *letters) {
    int status = INRO__CLI_OK;
    while (*letters && status == INRO__CLI_OK) {
        const struct inro__cli_option *option = find_letter(reader, *letters);
        if (!option)
            return inro__cli_misuse(reader->command, "unknown option \"-%c\"", *letters);
        letters++;
        const char *attached = option->value && *letters ? letters : NULL;
        status = apply(reader, option, attached);
        if (option->value)
            break;
    }
    return status;
}

/* "-" stands for standard input and -5 is a number: no option has such a letter. */
static bool is_operand(const char *word) {
    return word[0] != '-' || word[1] == '\0' || (word[1] >= '0' && word[1] <= '9');
}

static int read_word(struct reader *reader, bool *options_ended) {
    char *word = reader->words[reader->at++];
    if (*options_ended || is_operand(word)) {
        reader->settings->operands[reader->settings->operands_count++] = word;
        return INRO__CLI_OK;
    }
    if (strcmp(word, "--") == 0) {
        *options_ended = true;
        return INRO__CLI_OK;
    }
    return word[1] == '-' ? read_long(reader, word + 2) : read_letters(reader, word + 1);
}

int inro__cli_parse(const struct inro__cli_command *command, int count, char **words,
                    struct inro__cli_settings *out) {
    *out = (struct inro__cli_settings){.sandbox = INRO_SANDBOX_OPTIONS_INIT};
    out->items = inro__cli_alloc((size_t)count, sizeof *out->items);
    out->operands = inro__cli_alloc((size_t)count, sizeof *out->operands);
    struct reader reader = {.command = command, .settings = out, .words = words, .count = count};
    for (const struct inro__cli_option *option = inro__cli_options; option->name; option++)
        if (option->fallback)
            option->set(out, option->fallback);
    bool options_ended = false;
    int status = INRO__CLI_OK;
    while (reader.at < count && status == INRO__CLI_OK && !out->help)
        status = read_word(&reader, &options_ended);
    return status;
}

void inro__cli_settings_done(struct inro__cli_settings *settings) {
    free(settings->items);
    free(settings->operands);
    *settings = (struct inro__cli_settings){.items = NULL};
}
