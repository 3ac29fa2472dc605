# The front door. Every target first makes sure that the machine has what it needs.

.DEFAULT_GOAL := help
.PHONY: help run install test check bench chaos fmt deny

CARGO ?= cargo
EVERYTHING := --workspace --all-features
# Built together, so that what they share is built once.
PROGRAMS := --package palyra-daemon --package palyra-cli
PREFIX ?= $(HOME)/.local
# Where cargo puts what it builds in a profile.
built = $(shell $(CARGO) metadata --format-version 1 --no-deps | \
	sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/$(1)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start the daemon
	@scripts/bootstrap run
	$(CARGO) build $(PROGRAMS)
	@exec "$(call built,debug)/palyrad"

install: ## Put palyrad and palyra, built for daily use, into PREFIX/bin (~/.local/bin)
	@scripts/bootstrap run
	$(CARGO) build --release $(PROGRAMS)
	install -d "$(PREFIX)/bin"
	install -m 755 "$(call built,release)/palyrad" "$(call built,release)/palyra" "$(PREFIX)/bin"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; \
	*) echo "$(PREFIX)/bin is not in your PATH: add it in your shell's profile" ;; esac

check: ## Quick checks: format, lints, tidy, drift of generated files, unit tests
	@scripts/bootstrap check
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy $(EVERYTHING) --all-targets -- -D warnings
	$(CARGO) xtask tidy
	$(CARGO) xtask codegen --check
	@# Whoever has no Postgres yet can check, too: what needs one is found out here.
	PALYRA_POSTGRES_BIN=/none $(CARGO) nextest run $(EVERYTHING) --lib --bins -E 'not test(/::on_postgres::/)'

test: ## Every test, also those that need Postgres
	@scripts/bootstrap test
	$(CARGO) test $(EVERYTHING) --doc
	$(CARGO) nextest run $(EVERYTHING)

chaos: ## The long versions of the crash tests
	@scripts/bootstrap chaos
	PALYRA_CHAOS=1 $(CARGO) nextest run $(EVERYTHING) --profile chaos -E 'test(/crash/)'

bench: ## Measure, and compare with raw references (BENCH="NAME…" for some)
	@scripts/bootstrap bench
	$(CARGO) xtask bench $(BENCH)

fmt: ## Format the code
	@scripts/bootstrap fmt
	$(CARGO) fmt --all

deny: ## Check licences, advisories and sources of dependencies
	@scripts/bootstrap deny
	$(CARGO) deny check
