# PYTHON is the interpreter of the environment the project is installed in; ARGS go to the command.
PYTHON ?= python

.PHONY: examples gpu lint test

gpu:  ## Everything only a GPU can show, in under eight minutes: docs/gpu_check.md
	@PYTHONPATH="tests:$$PYTHONPATH" $(PYTHON) -m gpu.check $(ARGS)

examples:  ## The reports and pictures under docs/examples, made again
	$(PYTHON) docs/examples/regenerate.py

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	lint-imports

test:
	$(PYTHON) -m pytest $(ARGS)
