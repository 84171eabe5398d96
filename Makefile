# PYTHON is the interpreter of the environment the project is installed in; ARGS go to the command.
PYTHON ?= python

.PHONY: gpu lint test

gpu:  ## Everything only a GPU can show, in under eight minutes: docs/gpu_check.md
	@PYTHONPATH="tests:$$PYTHONPATH" $(PYTHON) -m gpu.check $(ARGS)

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	lint-imports

test:
	$(PYTHON) -m pytest $(ARGS)
