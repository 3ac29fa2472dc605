# The front door. Every target first makes sure that the machine has what it needs.

.DEFAULT_GOAL := help
.PHONY: help run test check bench chaos fmt deny

CARGO ?= cargo
EVERYTHING := --workspace --all-features

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start the daemon
	@scripts/bootstrap run
	$(CARGO) run --package palyra-daemon --bin palyrad

check: ## Quick checks: format, lints, tidy, drift of generated files, unit tests
	@scripts/bootstrap check
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy $(EVERYTHING) --all-targets -- -D warnings
	$(CARGO) xtask tidy
	$(CARGO) xtask codegen --check
	$(CARGO) nextest run $(EVERYTHING) --lib --bins

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
