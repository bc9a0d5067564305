# Two commands do everything, virtual environment included: `make demo` and `make test`.
# Both can be run again at any time; what is installed already is not installed twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Much of what is installed is never imported; what is, is compiled then, and once: where the
# environment forbids Python to keep that, every process compiles all of JAX, which takes it 2 s.
export PYTHONDONTWRITEBYTECODE :=
# uv takes seconds for what pip takes most of a minute for. Where it cannot, as behind an index that
# only pip has been told of, pip does it.
TO_INSTALL := --quiet --constraint constraints.txt --editable
INSTALL = (test -x $(BIN)/uv && $(BIN)/uv pip install --python $(BIN)/python $(TO_INSTALL) $(1) || \
  $(BIN)/python -m pip install --disable-pip-version-check --no-compile $(TO_INSTALL) $(1))

.PHONY: help demo test lint types tests slurm clean

help:
	@echo "make demo   train, evaluate and certify a few agents in about two minutes, and write a page about them"
	@echo "make test   run all checks: lint, types, tests"
	@echo "make clean  remove the virtual environment and caches"

demo: $(VENV)/.installed
	$(BIN)/remanence reproduce tmaze --profile smoke --out studies/smoke
	@echo
	$(BIN)/remanence report studies/smoke
	@echo
	@echo "To set its runs side by side, or watch an agent walk through a maze of 30 cells:"
	@echo "  $(BIN)/remanence compare studies/smoke"
	@echo "  $(BIN)/remanence play --agent studies/smoke/runs/tmaze-short-gru --set length=30"

# Types are checked by one process, and tests on a real Slurm mostly wait.
test: $(VENV)/.installed-tests
	@$(MAKE) --no-print-directory --jobs 4 lint types tests slurm

lint: $(VENV)/.installed-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-tests
	$(BIN)/pyrefly check

tests: $(VENV)/.installed-tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --ignore tests/slurm

slurm: $(VENV)/.installed-tests
	$(BIN)/python -m pytest --quiet tests/slurm

$(VENV)/.python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
	  echo "remanence needs Python 3.11 or newer, and '$(PYTHON)' is not: run make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c "import venv, ensurepip" 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module: install it (Debian and Ubuntu: apt install python3-venv) and run make $(MAKECMDGOALS) again" >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt uv || \
	  echo "uv could not be installed; pip will take half a minute longer"
	@touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing remanence and what it needs"
	@$(call INSTALL,.)
	@touch $@

$(VENV)/.installed-tests: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing remanence and what its checks need"
	@$(call INSTALL,'.[dev]')
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
