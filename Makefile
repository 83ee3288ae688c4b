# Each target sets up what it needs in .venv; nothing else on the machine changes.
# PYTHON=/path/to/python3.12 names the interpreter; ARGS=... is handed on to demo, test and torture.
.DEFAULT_GOAL := help
.PHONY: help demo test torture lint setup lock clean
MAKEFLAGS += --no-print-directory
RUN := .venv/bin/python

help:
	@echo 'make demo    the whole loop on the virtual robot; writes runs/demo/report.html (ARGS=--quick: three minutes)'
	@echo 'make test    everything that must hold: style, types, import contracts, tests (ARGS="-k wire": some of the tests)'
	@echo 'make torture kill recordings and fill their disk, 220 times: nothing acknowledged may be lost (ARGS=--kills=20)'
	@echo 'make lint    style, types and import contracts alone'
	@echo 'make setup   only the environment in .venv (PYTHON=/path/to/python3.12 names the interpreter)'
	@echo 'make lock    renew requirements.lock after a change of setup.cfg'
	@echo 'make clean   remove the environment and what tools left behind; runs/ stays'

setup:
	@sh tools/bootstrap.sh

demo: setup
	@$(RUN) -m svm_robot demo $(ARGS)

test: setup
	@sh tools/test.sh $(ARGS)

torture: setup
	@$(RUN) tools/torture.py $(ARGS)

lint: setup
	@sh tools/lint.sh

lock: setup
	@sh tools/lock.sh

clean:
	@sh tools/clean.sh
