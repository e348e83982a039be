# The door to inro: each target sets up what it needs, builds it, and does one thing.
#
# The build itself is described in meson.build; this file only names the everyday commands.
# SPDX-License-Identifier: Apache-2.0

# Presets whose tests `make test` runs, in this order; presets/NAME.ini says what each is.
TEST_PRESETS = dev asan tsan fuzz release
FUZZ_SECONDS = 60
# Part of a test program's name: make test ONLY=value
ONLY =

folders = $(patsubst build-release,build,$(addprefix build-,$(TEST_PRESETS)))

.PHONY: help run build test check format fuzz bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

run: ## set up, build, and run the quick start on a real script
	@tools/setup
	@[ -x build/inro ] || echo "building; the first time takes some minutes"
	@tools/preset release inro examples/quickstart
	@build/examples/quickstart examples/quickstart.rb

build: ## set up and build the release preset into build/
	@tools/setup
	@tools/preset release

test: ## set up, build every preset, run all tests (ONLY=part of a name)
	@tools/setup --test --fuzz --check
	@set -e; for preset in $(TEST_PRESETS); do echo "building $$preset"; tools/preset $$preset; done
	@tests/run --only '$(ONLY)' $(folders)

check: ## static checks: contracts, layers, sizes, symbols, format, clang-tidy
	@tools/setup --check
	@tools/preset release
	@tools/preset dev
	@tools/check-all

format: ## format every C file
	@tools/setup --check
	@tools/check-format --fix

fuzz: ## run every fuzz target for FUZZ_SECONDS (60) seconds
	@tools/setup --fuzz
	@tools/preset fuzz
	@set -e; for target in build-fuzz/fuzz/fuzz_*[!.]*; do \
	    if [ -f "$$target" ] && [ -x "$$target" ]; then \
	        name=$${target##*/fuzz_}; tools/fuzz-run "$$target" "fuzz/corpus/$$name" $(FUZZ_SECONDS); \
	    fi; done

bench: ## run the benchmark against native mruby and wasmtime; writes build/bench.json
	@tools/setup --bench
	@tools/preset release
	@bench/run

clean: ## remove what was built; what was fetched stays in .deps/
	rm -rf build build-dev build-asan build-tsan build-fuzz
