# Two commands do everything on a fresh machine, set-up included:
#   make gate    run the reference loop over all transports, streaming and not
#   make test    run the test suite
# PYTHON=python3.12 chooses another interpreter; each version has its own environment folder.
SHELL := /bin/bash
PYTHON ?= python3
JOBS ?= 2

# A version manager's shim may exist for a version that is not switched on: then ask pyenv for that version.
probe := import sys; assert sys.version_info >= (3, 11); print("%d.%d" % sys.version_info[:2], sys.executable)
found := $(shell $(PYTHON) -c '$(probe)' 2>/dev/null || PYENV_VERSION=$(patsubst python%,%,$(notdir $(PYTHON))) $(PYTHON) -c '$(probe)' 2>/dev/null)
version := $(word 1,$(found))
python := $(word 2,$(found))

venv := .venv-$(version)
bin := $(venv)/bin
base := $(venv)/.installed-base
full := $(venv)/.installed-full

ifeq ($(version),)
ifneq ($(MAKECMDGOALS),clean)
$(error $(PYTHON): no Python 3.11 or newer runs under this name; choose one: make PYTHON=/path/to/python3.11 ...)
endif
endif

.PHONY: gate test lint cassettes tables ground env bin clean

gate: $(base)
	$(bin)/harness run --jobs $(JOBS) $(ARGS)

test: $(full)
	$(bin)/python -m pytest $(ARGS)

lint: $(full)
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy
	$(bin)/lint-imports

cassettes: $(full)
	$(bin)/python -m harness.recording.simulated_cassettes

tables: $(base)
	$(bin)/python -c "from pathlib import Path; from harness.reports.rule_table import write; write(Path('reports'))"

ground: $(full)
	$(bin)/python -c "from pathlib import Path; from harness.recording.ground import write; write(Path('contracts/provider/sdk-ground.json'))"

env: $(full)

bin: $(full)
	@echo $(bin)

$(venv)/bin/python:
	$(python) -m venv $(venv)

$(base): pyproject.toml constraints.txt | $(venv)/bin/python
	$(bin)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	$(bin)/python -m compileall -q harness || true
	@touch $@

$(full): pyproject.toml constraints.txt | $(venv)/bin/python
	$(bin)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test,dev]"
	@touch $@ $(base)

clean:
	rm -rf .venv-* build dist *.egg-info reports/latest .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
