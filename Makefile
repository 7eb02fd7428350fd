# Everything a person types. A fresh clone needs Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest --numprocesses auto --no-loadscope-reorder

.PHONY: demo test test-slow test-all drills check fmt lock lowest clean help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock -c requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)  ## everything there is, on the bundled project: no network, no engine, no key
	$(BIN)/swt demo

test: $(READY)  ## the default level: no engine, no server, at most five CPU minutes
	$(PYTEST)

test-slow: $(READY)  ## what the default level leaves out: engines, servers, kills; skips what is not installed
	$(PYTEST) -m 'slow and not drill'

test-all: test test-slow  ## both, as CI runs them

drills: $(READY)  ## whole matrices and campaigns of kills, for nightly runs
	$(PYTEST) -m drill

check: $(READY)  ## lint, types, import rules, and whether every test can be imported
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --collect-only --quiet --quiet

fmt: $(READY)  ## format
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lock: $(READY)  ## resolve requirements.lock again: hashes, no index address
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-header --quiet --upgrade -o requirements.lock

lowest: $(READY)  ## the tests with the oldest releases that pyproject.toml promises; half an hour more, so not in CI
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct -e '.[dev]'
	$(VENV)-lowest/bin/python -m pytest --numprocesses auto --no-loadscope-reorder -m 'not drill' \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

clean:  ## forget the environment and the warehouse
	rm -rf $(VENV) $(VENV)-lowest data/store data/cache data/report data/swt.duckdb
