/* A program in C++11 that uses the library: linkage, initialisers and a service as a lambda without captures.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inro/inro.h>

#include <cstdio>
#include <cstring>
#include <memory>

namespace {

int failures = 0;

void check(bool condition, const char *what) {
    if (condition)
        return;
    std::fprintf(stderr, "consumer_cxx11: not so: %s\n", what);
    failures++;
}

using sandbox_ptr = std::unique_ptr<inro_sandbox, decltype(&inro_sandbox_free)>;
using outcome_ptr = std::unique_ptr<inro_outcome, decltype(&inro_outcome_free)>;

void use_initialisers() {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    inro_invocation invocation = INRO_INVOCATION_INIT;
    check(options.size == sizeof options, "options know their size");
    check(invocation.size == sizeof invocation, "an invocation knows its size");
    check(INRO_STR("abc").length == 3, "a literal knows its length");
}

sandbox_ptr make_sandbox(inro_error *error) {
    inro_sandbox *sandbox = nullptr;
    check(inro_sandbox_new(nullptr, &sandbox, error) == INRO_OK, "a sandbox can be made");
    return sandbox_ptr(sandbox, &inro_sandbox_free);
}

void use_service() {
    inro_error error;
    auto twice = [](void *, inro_call *call) -> inro_status {
        const inro_value *first = inro_value_array_at(inro_call_args(call), 0);
        return inro_call_answer(call, inro_value_new_int(2 * inro_value_get_int(first)));
    };
    sandbox_ptr sandbox = make_sandbox(&error);
    inro_object *object = inro_object_new(twice, nullptr, nullptr);
    check(inro_sandbox_bind(sandbox.get(), INRO_STR("Twice"), object, &error) == INRO_OK,
          "a service can be bound");
    inro_object_unref(object);
    inro_outcome *raw = nullptr;
    check(inro_sandbox_eval(sandbox.get(), INRO_STR("Twice.call(21)"), nullptr, &raw, &error) == INRO_OK,
          "a script runs");
    outcome_ptr outcome(raw, &inro_outcome_free);
    check(inro_value_get_int(inro_outcome_value(outcome.get())) == 42, "the service answers 42");
}

} // namespace

int main() {
    check(std::strcmp(inro_version(), INRO_VERSION) == 0, "header and library have one version");
    use_initialisers();
    use_service();
    return failures != 0;
}
