# TFMesos: `make demo` trains on this machine, `make test` runs every check.
# Both make their own environment in .venv. Another Python than python3: `PYTHON=python3.12 make demo`.

VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test clean FORCE
.DEFAULT_GOAL := demo

demo: $(VENV)/demo.ready
	@$(BIN)/python scripts/demo.py

test: $(VENV)/test.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

clean:
	rm -rf $(VENV) build dist

# A Python chosen by the caller is compared with the one in .venv each time; else only a newer pyproject.toml counts.
$(VENV)/demo.ready: pyproject.toml $(if $(PYTHON),FORCE)
	@PYTHON="$(PYTHON)" sh scripts/environment.sh $(VENV) tensorflow
	@touch $@

$(VENV)/test.ready: pyproject.toml $(if $(PYTHON),FORCE)
	@PYTHON="$(PYTHON)" sh scripts/environment.sh $(VENV) tensorflow,dev
	@touch $@ $(VENV)/demo.ready

FORCE:
