# Two commands on a bare machine with Python 3.11+, make and git:  make tune  and  make test.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

TRIALS ?= 90
OUT ?= rocktune-out

# A stamp says what .venv was made from; `gone` makes it anew when its Python is no longer there.
GONE := $(if $(wildcard .venv/bin/python),,gone)
MADE_FROM := pyproject.toml requirements-setup.txt scripts/setup.sh $(GONE)
DEV := .venv/.setup-dev
COMPARE := .venv/.setup-compare
FUZZ := .venv/.setup-fuzz
AUDIT := .venv/.setup-audit
TUNER := .venv/.setup-tuner

.PHONY: help setup compare tune test coverage prove-crash prove-interface prove-coverage prove-load prove-faults prove-scale prove-speedup prove-watch prove-search prove-effects prove-proposals reproduction reproduction-page report-pictures dashboard-pictures prove-pages lint types audit audit-stored lock check-lock clean db_bench postgresql curl chromium pngquant iproute2 gone prove-memory prove-strategies prove-warm prove-ranking-scale prove-null prove-guide prove-greedy java-driver prove-rocksjava prove-methods prove-beside prove-passed-over prove-reading prove-space tuner prove-autotune prove-nothing prove-intervals prove-fuzz prove-draws prove-options prove-files prove-explanations prove-endurance

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1@\2/p' Makefile | while IFS=@ read -r goal what; do \
		printf '%-26s%s\n' "$$goal" "$$what"; done

setup: .venv/.setup ## makes .venv, with rocktune and all that it needs

compare: $(COMPARE) ## adds to .venv what the strategies tpe and smac need

tuner: $(TUNER) ## adds to .venv what `rocktune autotune` needs

tune: setup db_bench ## tunes the quick load (TRIALS=90, OUT=rocktune-out, ARGS=...)
	.venv/bin/rocktune tune --workload load-quick --trials $(TRIALS) --out $(OUT) $(ARGS)

test: $(DEV) db_bench postgresql curl chromium iproute2 ## runs all tests, or those that ARGS names
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 pg_virtualenv -t -o fsync=off \
		.venv/bin/python -m pytest $(if $(ARGS),$(ARGS),--numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 20)

coverage: ## runs all tests, and counts the lines that they reach
	@$(MAKE) --no-print-directory test ARGS="--cov --numprocesses 3 --dist loadfile --no-loadscope-reorder"

prove-crash: $(DEV) db_bench postgresql ## kills the service 55 times on each database (ARGS=--again)
	PYTHONPATH=. pg_virtualenv -t -o fsync=off .venv/bin/python \
		tests/proofs/crash_table.py $(ARGS)

prove-interface: $(DEV) ## calls a real server in every way that its description allows (EXAMPLES=100)
	PYTHONPATH=. .venv/bin/python tests/proofs/schemathesis_whole.py $(ARGS)

prove-coverage: $(DEV) ## counts on 2,000 simulated jobs how often the intervals hold (ARGS=--again)
	PYTHONPATH=. .venv/bin/python tests/proofs/coverage_table.py $(ARGS)

prove-pages: $(DEV) chromium ## weight of the pages and time to first view, to 100,000 trials: alone (ARGS)
	.venv/bin/python -m benchmarks.page_views $(ARGS)

prove-load: $(DEV) postgresql ## serves pages and stores trials beside a million: ten minutes, alone
	pg_virtualenv -t .venv/bin/python -m benchmarks.serve_load $(ARGS)

prove-faults: $(DEV) db_bench postgresql iproute2 ## strikes a cluster with each fault ten times: 40 minutes, as root (ARGS=--again)
	PYTHONPATH=. .venv/bin/python tests/proofs/fault_table.py $(ARGS)

prove-speedup: $(DEV) ## the same job on one host and on four, which sleep: 40 minutes (ARGS=--again)
	PYTHONPATH=. .venv/bin/python tests/proofs/speedup_table.py $(ARGS)

prove-scale: $(DEV) postgresql ## 500 simulated hosts, 100,000 trials: what one controller takes (ARGS)
	pg_virtualenv -t .venv/bin/python -m benchmarks.scale_out $(ARGS)
	.venv/bin/python -m benchmarks.scale_out $(ARGS)

prove-watch: $(DEV) ## simulates nights: false alarms and power of the regression watch (ARGS)
	.venv/bin/python -m benchmarks.watch_power $(ARGS)

prove-search: $(DEV) ## compares strategies on functions learned from recorded trials (ARGS=--strategies a,b)
	.venv/bin/python -m benchmarks.search $(ARGS)

prove-proposals: $(DEV) ## times the proposals of a strategy by how many trials are known (ARGS)
	.venv/bin/python -m benchmarks.search.proposals $(ARGS)

prove-memory: setup db_bench ## what 1, 2, 4 and 8 times the memory gain: an hour, resumable, alone (ARGS=--page)
	.venv/bin/python -m benchmarks.memory_front $(ARGS)

prove-greedy: setup db_bench ## repeats Samsung's greedy tuning beside its figures: an hour, resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.greedy $(ARGS)

prove-strategies: $(COMPARE) db_bench ## compares strategies on the real db_bench: two hours, resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.real_search $(ARGS)

prove-methods: setup db_bench ## compares tuning methods with equal seconds: many hours, resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.methods $(ARGS)

prove-beside: setup db_bench ## runs beside the idle ends of others against runs alone: ten minutes, alone (ARGS)
	.venv/bin/python -m benchmarks.methods.beside_check $(ARGS)

prove-passed-over: setup db_bench ## what the long bake-off's forest passes over, measured again: half an hour, alone (ARGS)
	.venv/bin/python -m benchmarks.methods.passed_over $(ARGS)

prove-effects: $(DEV) ## compares what jobs learn about the parameters with the truth (ARGS=--seeds 3)
	.venv/bin/python -m benchmarks.search.effects $(ARGS)

prove-explanations: $(DEV) ## counts how often the intervals of explanations hold, on learned functions: an hour, resumable (ARGS)
	.venv/bin/python -m benchmarks.explanation_coverage $(ARGS)

prove-warm: $(DEV) ## what a warm start and starting points save, on learned functions (ARGS=--seeds 5)
	.venv/bin/python -m benchmarks.search.warm $(ARGS)

prove-ranking-scale: $(DEV) db_bench ## the same configurations at three scales: some hours, resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.ranking_scale $(ARGS)

prove-reading: setup db_bench ## reads of prepared databases and of copies: 15 minutes, resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.reading_copies $(ARGS)

prove-space: setup db_bench ## space amplification of every benchmark against a full scan: ten minutes, resumable (ARGS)
	.venv/bin/python -m benchmarks.space_amplification $(ARGS)

prove-null: $(DEV) ## 400 simulated jobs on options that do nothing: how often is something found (ARGS=--jobs 10)
	.venv/bin/python -m benchmarks.null_search $(ARGS)

prove-nothing: setup db_bench ## 30 real jobs on options that do nothing: 45 minutes, resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.real_null $(ARGS)

prove-intervals: setup db_bench ## confirms one configuration 40 times with the real db_bench: 45 minutes, alone (ARGS)
	.venv/bin/python -m benchmarks.real_coverage $(ARGS)

prove-draws: $(DEV) db_bench ## opens 10,000 drawn configurations with the real db_bench: resumable (ARGS)
	PYTHONPATH=. .venv/bin/python tests/proofs/accepted_draws.py $(ARGS)

prove-options: $(DEV) db_bench ## 200 random OPTIONS files at 1/64, ten of them at full size too: resumable, alone (ARGS)
	PYTHONPATH=. .venv/bin/python tests/proofs/random_options.py $(ARGS)

prove-endurance: $(DEV) ## 10,000 trials and 24 nights in one service: what grows: ten minutes, alone (ARGS)
	PYTHONPATH=. .venv/bin/python tests/proofs/endurance.py $(ARGS)

prove-fuzz: $(FUZZ) ## 10 million inputs to what reads files, outputs and requests: an hour, resumable (ARGS)
	PYTHONPATH=. .venv/bin/python tests/proofs/fuzz.py $(ARGS)

prove-files: $(DEV) db_bench ## real files of others: what is expected and what each command says: alone (ARGS)
	PYTHONPATH=. .venv/bin/python tests/proofs/real_files.py $(ARGS)

prove-guide: setup db_bench ## half, calculated and double of KIOXIA's tuning guide: 15 minutes, resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.guide_check $(ARGS)

java-driver: db_bench ## makes the driver of RocksJava, to compare Java with C++ (needs a JDK 17 and Maven)
	@drivers/java/make.sh

prove-rocksjava: setup db_bench ## RocksJava against C++: ten minutes, resumable, alone, after java-driver (ARGS)
	.venv/bin/python -m benchmarks.rocksjava $(ARGS)

prove-autotune: $(TUNER) ## compaction on, off, tuned and by duty cycle on a sine load: resumable, alone (ARGS)
	.venv/bin/python -m benchmarks.autotune $(ARGS)

reproduction: setup db_bench ## repeats the reference paper: some hours, resumable, alone on the machine
	scripts/reproduction.sh paper
	scripts/reproduction.sh default
	$(MAKE) --no-print-directory reproduction-page

reproduction-page: setup ## writes docs/reproduction.md from the trials that are kept
	.venv/bin/python -m benchmarks.reproduction

lint: $(DEV) ## style, format, which rooms import which, and what could be a hole
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports
	.venv/bin/bandit --quiet --configfile pyproject.toml --recursive sampler models optimizer db jobs api cli

types: $(DEV) ## checks types, strictly
	.venv/bin/mypy

audit: $(AUDIT) ## asks PyPI which of the locked packages have known holes
	.venv/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off \
		$(foreach file,$(wildcard requirements*.txt),--requirement $(file))

audit-stored: $(AUDIT) ## the same with the advisories in docs/results/advisories.md, where PyPI's cannot be asked
	.venv/bin/python tests/proofs/stored_advisories.py

lock: ## writes requirements*.txt from pyproject.toml; newest versions with ARGS=--upgrade
	@scripts/lock.sh $(ARGS)

check-lock: ## fails when requirements*.txt are not what pyproject.toml asks for
	@scripts/check-lock.sh

clean: ## removes .venv and caches; keeps what tuning has found
	rm -rf .venv build *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache \
		.hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.setup: $(MADE_FROM) requirements.txt
	@scripts/setup.sh requirements.txt
	@touch $@

$(DEV): $(MADE_FROM) requirements-dev.txt
	@scripts/setup.sh requirements-dev.txt
	@touch .venv/.setup $@

$(COMPARE): $(MADE_FROM) requirements-compare.txt
	@scripts/setup.sh requirements-compare.txt
	@touch .venv/.setup $@

$(TUNER): $(MADE_FROM) requirements-tuner.txt
	@scripts/setup.sh requirements-tuner.txt
	@touch .venv/.setup $@

$(AUDIT): $(DEV) requirements-audit.txt
	@scripts/setup.sh requirements-audit.txt
	@touch $@

$(FUZZ): $(DEV) requirements-fuzz.txt
	@scripts/setup.sh requirements-fuzz.txt
	@touch $@

db_bench:
	@command -v "$${ROCKTUNE_DB_BENCH:-db_bench}" >/dev/null || scripts/install.sh rocksdb-tools

report-pictures: $(DEV) chromium pngquant ## pictures of a report for docs/report (OUT=rocktune-out)
	PYTHONPATH=. .venv/bin/python tests/proofs/report_pictures.py $(OUT)/report.html docs/report

dashboard-pictures: $(DEV) db_bench chromium pngquant ## pictures of the dashboard for docs/dashboard
	PYTHONPATH=. .venv/bin/python tests/proofs/dashboard_pictures.py docs/dashboard

chromium:
	@command -v chromium >/dev/null || scripts/install.sh chromium

pngquant:
	@command -v pngquant >/dev/null || scripts/install.sh pngquant

iproute2:
	@command -v ip >/dev/null || [ -x /usr/sbin/ip ] || scripts/install.sh iproute2

curl:
	@command -v curl >/dev/null || scripts/install.sh curl

postgresql:
	@ls /usr/lib/postgresql/*/bin/pg_ctl /usr/bin/pg_virtualenv >/dev/null 2>&1 \
		|| scripts/install.sh postgresql
