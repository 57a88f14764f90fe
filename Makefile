# Two commands on a bare machine with Python 3.11+, make and git:  make tune  and  make test.
include scripts/environment.mk
.DEFAULT_GOAL := help

TRIALS ?= 90
OUT ?= rocktune-out
# Handed over to studies/Makefile, as all of `prove-` are.
STUDIES := reproduction java-driver report-pictures dashboard-pictures terminal-pictures audit-stored

.PHONY: help setup compare tuner tune test test-quick coverage lint types audit lock check-lock clean $(STUDIES)

help: ## this list
	@sed -n 's/^\([a-z%-]*\):.*## \(.*\)/make \1@\2/p' Makefile | while IFS=@ read -r goal what; do \
		printf '%-18s%s\n' "$$goal" "$$what"; done

setup: ## makes .venv, with rocktune and all that it needs

compare: $(COMPARE) ## adds to .venv what the strategies tpe and smac need

tuner: $(TUNER) ## adds to .venv what `rocktune autotune` needs

tune: setup db_bench ## tunes the quick load (TRIALS=90, OUT=rocktune-out, ARGS=...)
	.venv/bin/rocktune tune --workload load-quick --trials $(TRIALS) --out $(OUT) $(ARGS)

test: $(DEV) db_bench postgresql curl chromium iproute2 nginx caddy prometheus systemd ## runs all tests, or those that ARGS names
	pg_virtualenv -t -o fsync=off env $(PYTEST) $(if $(ARGS),$(ARGS),$(IN_PARALLEL) --durations 20)

test-quick: $(DEV) db_bench ## runs what a developer runs at every change: neither slow nor with programs of the system
	$(PYTEST) --numprocesses logical --dist loadfile --no-loadscope-reorder --hypothesis-profile quick \
		-m "not (slow or postgres or chromium or nginx or prometheus or db_bench)" $(ARGS)

coverage: ## runs all tests, and counts the lines that they reach
	@$(MAKE) --no-print-directory test ARGS="--cov $(IN_PARALLEL)"

prove-%: ## repeats what a page of docs/results claims; `make prove-help` lists them
	@$(MAKE) --no-print-directory --file studies/Makefile $@

$(STUDIES):
	@$(MAKE) --no-print-directory --file studies/Makefile $@

lint: $(DEV) ## style, format, what may import what, and what could be a hole
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports
	.venv/bin/bandit --quiet --configfile pyproject.toml --recursive sampler models optimizer db jobs api cli

types: $(DEV) ## checks types, strictly
	.venv/bin/mypy

audit: $(AUDIT) ## asks PyPI which of the locked packages have known holes
	.venv/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off \
		$(foreach file,$(wildcard requirements/*.txt),--requirement $(file))

lock: ## writes requirements/ from pyproject.toml; newest versions with ARGS=--upgrade
	@scripts/lock.sh $(ARGS)

check-lock: ## fails when requirements/ is not what pyproject.toml asks for
	@scripts/check-lock.sh

clean: ## removes .venv and caches; keeps what tuning has found
	rm -rf .venv build *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache \
		.hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
