# The only entry a contributor must know; `make` alone lists the targets.
SPEC ?= clusters/lab-hybrid.yaml
ARGS ?=

BOOTSTRAP := sh bootstrap/run.sh
PYTEST := .venv/bin/python -m pytest
# While tests on hosts wait for these, another worker has the processors: tests/streams.py.
STREAMS := -n 3 --dist loadfile --no-loadscope-reorder --durations=20

.DEFAULT_GOAL := help
.PHONY: help setup lab lab-down test test-slow test-kernel check fix bench
.NOTPARALLEL:

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: ## Debian packages, .venv, engine and root image; cached
	@$(BOOTSTRAP) setup

lab: setup ## build the cluster of SPEC (default clusters/lab-hybrid.yaml) on this machine; as root
	@$(BOOTSTRAP) lab $(SPEC)

lab-down: ## take it away again; without SPEC the only one that is here
	@$(BOOTSTRAP) lab-down $(if $(filter file,$(origin SPEC)),,$(SPEC))

test: setup ## all tests but the slow ones; ARGS goes to pytest
	@$(BOOTSTRAP) setup-tests
	@$(PYTEST) $(STREAMS) -m "not slow and not kernel" $(ARGS)

test-slow: setup ## all tests but those of real kernels
	@$(BOOTSTRAP) setup-tests
	@$(PYTEST) --durations=20 -m "not kernel" $(ARGS)

test-kernel: ## what only a real kernel shows, in emulated machines
	@$(BOOTSTRAP) test-kernel

check: ## style, types, shell scripts, roles; needs .venv only
	@$(BOOTSTRAP) check

fix: ## put right what a tool can; needs .venv only
	@$(BOOTSTRAP) fix

bench: setup ## all benchmarks
	@$(BOOTSTRAP) bench
