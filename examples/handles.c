/* Objects, handles, blocks: a service that answers host objects, which the script calls and hands back.
 *
 *     Bank.open(name) -> account (a handle)        account.deposit(cents), account.balance
 *     Bank.move(from, to, cents)                   Bank.each { |name, account| ... }
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inro/inro.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNTS_MAX 8
#define BALANCE_MAX 1000000000

struct account {
    char name[16];
    int64_t cents;
    inro_object *object; /* what a script holds a handle of */
};

struct bank {
    struct account accounts[ACCOUNTS_MAX];
    size_t count;
};

static bool is(inro_str text, const char *expected) {
    return text.length == strlen(expected) && memcmp(text.data, expected, text.length) == 0;
}

static inro_status refuse(inro_call *call, const char *why) {
    return inro_call_fail(call, INRO_CALL_ARGUMENT, inro_str_from_c(why));
}

/* ---- an account ---- */

static inro_status account_call(void *user, inro_call *call) {
    struct account *account = user;
    const inro_value *cents = inro_value_array_at(inro_call_args(call), 0);
    if (is(inro_call_method(call), "balance"))
        return inro_call_answer(call, inro_value_new_int(account->cents));
    if (!is(inro_call_method(call), "deposit"))
        return inro_call_fail(call, INRO_CALL_UNDEFINED, INRO_STR("an account has balance and deposit"));
    if (inro_value_get_type(cents) != INRO_VALUE_INT || inro_value_get_int(cents) <= 0 ||
        inro_value_get_int(cents) > BALANCE_MAX - account->cents)
        return refuse(call, "deposit needs a number of cents that fits");
    account->cents += inro_value_get_int(cents);
    return INRO_OK;
}

/* ---- the bank ---- */

static inro_status bank_open(struct bank *bank, inro_call *call) {
    inro_str name = inro_value_get_text(inro_value_array_at(inro_call_args(call), 0));
    if (name.length == 0 || name.length >= sizeof bank->accounts[0].name)
        return refuse(call, "open needs a short name");
    if (bank->count == ACCOUNTS_MAX)
        return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("the bank is full"));
    struct account *account = &bank->accounts[bank->count];
    account->object = inro_object_new(account_call, account, NULL);
    if (!account->object)
        return INRO_ERR_MEMORY;
    memcpy(account->name, name.data, name.length);
    bank->count++;
    return inro_call_answer(call, inro_value_new_object(account->object));
}

/* A handle that comes back is the host's object again. It may be another service's: inro_object_user gives
 * the user data only if the callback is the one we name, so a wrong object is NULL and never a wrong cast. */
static struct account *account_at(inro_call *call, size_t index) {
    inro_object *object = inro_value_get_object(inro_value_array_at(inro_call_args(call), index));
    return object ? inro_object_user(object, account_call) : NULL;
}

static inro_status bank_move(inro_call *call) {
    struct account *from = account_at(call, 0), *to = account_at(call, 1);
    int64_t cents = inro_value_get_int(inro_value_array_at(inro_call_args(call), 2));
    if (!from || !to || cents <= 0)
        return refuse(call, "move needs two accounts and a number of cents");
    if (cents > from->cents || cents > BALANCE_MAX - to->cents)
        return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("there is not that much money"));
    from->cents -= cents;
    to->cents += cents;
    return INRO_OK;
}

/* Runs the script's block. Its break, its exception, or the end of the script's time come back as a status;
 * returning it is all that is to do. */
static inro_status bank_each(struct bank *bank, inro_call *call) {
    for (size_t i = 0; i < bank->count; i++) {
        inro_value *args = inro_value_new_array();
        const inro_value *result;
        inro_status status =
            inro_value_array_push(args, inro_value_new_text(inro_str_from_c(bank->accounts[i].name)));
        if (status == INRO_OK)
            status = inro_value_array_push(args, inro_value_new_object(bank->accounts[i].object));
        if (status == INRO_OK)
            status = inro_call_yield(call, args, &result, NULL);
        inro_value_free(args);
        if (status != INRO_OK)
            return status;
    }
    return inro_call_answer(call, inro_value_new_int((int64_t)bank->count));
}

static inro_status bank_call(void *user, inro_call *call) {
    inro_str method = inro_call_method(call);
    if (is(method, "open"))
        return bank_open(user, call);
    if (is(method, "move"))
        return bank_move(call);
    if (is(method, "each"))
        return bank_each(user, call);
    return inro_call_fail(call, INRO_CALL_UNDEFINED, INRO_STR("the bank has open, move and each"));
}

/* ---- scripts ---- */

static const char *const scripts[] = {
    "anna = Bank.open('anna')\n"
    "ben = Bank.open('ben')\n"
    "anna.deposit(1000)\n"
    "Bank.move(anna, ben, 300)\n"
    "[anna.balance, ben.balance]",

    "names = []\n"
    "Bank.each { |name, account| names << \"#{name} #{account.balance}\" }\n"
    "names",

    "Bank.each { |name, account| break name if account.balance < 500 }",
    "Bank.each { |name, account| raise \"stop at #{name}\" }",
    "Bank.move('anna', 'ben', 1)",
    "Bank.open('carl').close",
    "Inro::Handle.new(1)",
};

static void evaluate(inro_sandbox *sandbox, const char *source) {
    inro_outcome *outcome;
    inro_error error;
    char *text = NULL;
    if (inro_sandbox_eval(sandbox, inro_str_from_c(source), NULL, &outcome, &error) != INRO_OK) {
        fprintf(stderr, "handles: %s\n", error.message);
        exit(1);
    }
    const inro_failure *failure = inro_outcome_failure(outcome);
    if (failure)
        printf("%s: %.*s\n", inro_fault_class(failure->fault), (int)failure->message.length,
               failure->message.data);
    else if (inro_value_inspect(inro_outcome_value(outcome), &text, NULL, NULL) == INRO_OK)
        printf("%s\n", text);
    inro_text_free(text);
    inro_outcome_free(outcome);
}

int main(void) {
    struct bank bank = {.count = 0};
    inro_sandbox *sandbox = NULL;
    inro_error error;
    inro_object *object = inro_object_new(bank_call, &bank, NULL);
    if (!object || inro_sandbox_new(NULL, &sandbox, &error) != INRO_OK ||
        inro_sandbox_bind(sandbox, INRO_STR("Bank"), object, &error) != INRO_OK)
        return 1;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        evaluate(sandbox, scripts[i]);
    inro_sandbox_free(sandbox);
    inro_object_unref(object);
    for (size_t i = 0; i < bank.count; i++)
        inro_object_unref(bank.accounts[i].object);
    return 0;
}
