# What Makefile and studies/Makefile share: the environment in .venv, and programs of the system.
SHELL := /bin/sh
.DELETE_ON_ERROR:

# A stamp says what .venv was made from; `gone` makes it anew when its Python is no longer there.
GONE := $(if $(wildcard .venv/bin/python),,gone)
MADE_FROM := pyproject.toml requirements/setup.txt scripts/setup.sh $(GONE)
DEV := .venv/.setup-dev
COMPARE := .venv/.setup-compare
FUZZ := .venv/.setup-fuzz
AUDIT := .venv/.setup-audit
TUNER := .venv/.setup-tuner
# One thread for small matrices: several test processes share the cores.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv/bin/python -m pytest
IN_PARALLEL := --numprocesses 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

.PHONY: setup gone db_bench chromium pngquant iproute2 curl nginx caddy prometheus postgresql systemd

setup: .venv/.setup

.venv/.setup: $(MADE_FROM) requirements/runtime.txt
	@scripts/setup.sh requirements/runtime.txt
	@touch $@

$(DEV) $(COMPARE) $(TUNER): .venv/.setup-%: $(MADE_FROM) requirements/%.txt
	@scripts/setup.sh requirements/$*.txt
	@touch .venv/.setup $@

$(FUZZ) $(AUDIT): .venv/.setup-%: $(DEV) requirements/%.txt
	@scripts/setup.sh requirements/$*.txt
	@touch $@

# VERSION=9.10.0 brings that one besides: scripts/fetch_db_bench.py has the list.
db_bench:
	@command -v "$${ROCKTUNE_DB_BENCH:-db_bench}" >/dev/null || scripts/install.sh rocksdb-tools
	@$(if $(VERSION),"$$(scripts/python.sh)" scripts/fetch_db_bench.py $(VERSION))

pngquant curl caddy:
	@command -v $@ >/dev/null || scripts/install.sh $@

# Playwright, which drives it, brings a program that needs libatomic.
chromium:
	@command -v $@ >/dev/null || scripts/install.sh $@
	@ls /usr/lib/*/libatomic.so.1 /usr/lib*/libatomic.so.1 2>/dev/null | grep -q . \
		|| scripts/install.sh libatomic1

nginx:
	@command -v $@ >/dev/null || [ -x /usr/sbin/$@ ] || scripts/install.sh $@

iproute2:
	@command -v ip >/dev/null || [ -x /usr/sbin/ip ] || scripts/install.sh iproute2

# With promtool. The package's own service stays off: the tests start theirs.
prometheus:
	@command -v promtool >/dev/null || scripts/install.sh prometheus stopped

# For its checks of unit files; it does not become the machine's init.
systemd:
	@command -v systemd-analyze >/dev/null || scripts/install.sh systemd

postgresql:
	@ls /usr/lib/postgresql/*/bin/pg_ctl /usr/bin/pg_virtualenv >/dev/null 2>&1 \
		|| scripts/install.sh postgresql
