# Everything runs inside ./.venv, which the recipes make themselves; no environment needs to be active.
# A stamp file records each installation, so nothing is installed again until pyproject.toml or constraints.txt changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

help:
	@echo "make demo    one episode by the oracle (reward 1) and one by an agent that only talks (reward 0)"
	@echo "make test    lint, types, quick tests, slow CPU tests"
	@echo "make lint    ruff and mypy only"
	@echo "make bench   every script in benchmarks/, one after the other"
	@echo "make clean   remove .venv, caches and build outputs"
	@echo ""
	@echo "PYTHON=/path/to/python3 chooses the interpreter (3.11 or newer) that .venv is made from."

demo: $(VENV)/core.stamp
	$(BIN)/gym-enterprise demo

lint: $(VENV)/dev.stamp
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

test: lint
	$(BIN)/python -m pytest -q
	$(BIN)/python -m pytest -q -m "slow and not gpu" || test $$? -eq 5  # 5: no such tests

bench: $(VENV)/core.stamp
	@failed=""; \
	for script in benchmarks/*.py; do \
		echo "== $$script"; \
		$(BIN)/python "$$script" || failed="$$failed $$script"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/core.stamp: $(VENV)/made.stamp $(REQUIREMENTS)
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/made.stamp $(REQUIREMENTS)
	$(PIP_INSTALL) --editable ".[dev]"
	@touch $(VENV)/core.stamp $@

# The stamp holds the folder it was made in: scripts in .venv name that folder, so a copied or moved checkout makes its own.
ifneq ($(shell cat $(VENV)/made.stamp 2>/dev/null),$(CURDIR))
.PHONY: $(VENV)/made.stamp
endif
$(VENV)/made.stamp:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
		echo "No $(PYTHON) found. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is $$("$(PYTHON)" --version 2>&1); 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	@echo "$(CURDIR)" > $@
