# Everything needs only Python 3.11+ and make; the rest is installed into .venv, as pinned in requirements/.
# pip's own settings and environment are respected. Plain `make` lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:
.DELETE_ON_ERROR:
# Benchmarks must not share the machine, and the rest has no use for more jobs.
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
LIBRARIES := $(VENV)/.libraries
READY := $(VENV)/.ready
RUNNING := $(VENV)/.running
# Of engines that can't live beside the tests' own libraries.
ENGINES := $(VENV)/engines
BENCHMARKS := $(filter-out soak,$(notdir $(basename $(wildcard benchmarks/*.py))))

# Three attempts, since networks fail; pip itself checks the hashes and keeps its cache.
define retry
@for attempt in 1 2 3; do \
  $(1) && exit 0; \
  test $$attempt = 3 || { echo "installing failed; next attempt in 5 s" >&2; sleep 5; }; \
done; echo "installing failed three times: is a package index within reach of pip?" >&2; exit 1
endef

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+%?:.*## / { sub(/%/, "NAME", $$1); printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(RUNNING) ## writers, a committer that is killed half way, workers that tidy up, and a look at what came of it
	@$(PY) -m headgate demo

.PHONY: test
test: $(READY) ## the whole suite in several processes, then the coverage of the test plan (PYTEST_ARGS= adds options)
	@echo "suites: everything in the tree"
	@if test -n "$$HEADGATE_REAL_TABLES"; then echo "suites: real tables, from $$HEADGATE_REAL_TABLES"; \
	else echo "suites: not the real tables (HEADGATE_REAL_TABLES names no folder)"; fi
	$(PY) -m pytest -n auto --dist loadfile --durations=15 $(PYTEST_ARGS)
	@$(PY) tests/tooling/pages/spec_coverage.py --brief

.PHONY: lint
lint: $(READY) ## ruff, mypy --strict, the import contracts, and known holes in what is pinned
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(BIN)/lint-imports
	$(PY) tests/tooling/audit_dependencies.py

.PHONY: format
format: $(READY) ## mend what ruff can mend
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: kafka
kafka: $(READY) ## a local Kafka broker to play with, until Ctrl-C
	@PYTHONPATH="tests$${PYTHONPATH:+:$$PYTHONPATH}" $(PY) tests/tooling/kafka_playground.py

.PHONY: simulate
simulate: $(READY) ## random histories of the real code over simulated parts (SEEDS=n how many, FIRST=seed the first, KIND=log or milvus)
	@$(PY) tests/tooling/simulate.py $(addprefix --seeds=,$(SEEDS)) $(addprefix --first=,$(FIRST)) $(addprefix --kind=,$(KIND))

.PHONY: oracle
oracle: $(READY) ## random histories of real tables against a model of their rows (SEEDS=n, FIRST=seed, MINUTES=n, JOBS=n, SPARK=1 with Spark)
	@$(PY) tests/tooling/oracle.py $(addprefix --seeds=,$(SEEDS)) $(addprefix --first=,$(FIRST)) $(addprefix --minutes=,$(MINUTES)) \
	  $(addprefix --jobs=,$(JOBS)) $(addprefix --steps=,$(STEPS)) $(if $(SPARK),--spark)

.PHONY: engines
engines: $(READY) $(ENGINES)/.ready ## mirrors of odd tables and of the oracle's histories, read by ClickHouse (chdb) and delta-spark, too (SEEDS=n, FIRST=seed, STEPS=)
	$(PY) -m pytest -q -p no:cacheprovider tests/table/delta/test_mirror_readers.py --mirror-engines $(ENGINES)/bin/python
	@$(PY) tests/tooling/oracle.py --engines $(ENGINES)/bin/python --seeds=$(or $(SEEDS),40) $(addprefix --first=,$(FIRST)) \
	  $(addprefix --steps=,$(STEPS))

.PHONY: mutants
mutants: $(READY) ## deliberate bugs, one by one, and which test or random run notices each (ONLY=part of a name, BY=seeds, SEEDS=n, JOBS=n)
	@$(PY) tests/tooling/mutants.py $(addprefix --only=,$(ONLY)) $(addprefix --by=,$(BY)) $(addprefix --seeds=,$(SEEDS)) \
	  $(addprefix --jobs=,$(JOBS))

.PHONY: damage
damage: $(READY) ## damage to small tables of every kind: right answers or named errors (MINUTES=n, CASES=n of each kind, SEED=n, KIND=of table)
	@$(PY) tests/tooling/damage.py $(addprefix --minutes=,$(MINUTES)) $(addprefix --cases=,$(CASES)) $(addprefix --seed=,$(SEED)) \
	  $(addprefix --kind=,$(KIND))

.PHONY: fuzz
fuzz: $(READY) ## mutated Milvus manifests, or messages (KIND=messages): read or refused cleanly, in bounded time and memory (FILES=n, SEED=n)
	@$(PY) tests/tooling/fuzz.py $(addprefix --kind=,$(KIND)) $(addprefix --files=,$(FILES)) $(addprefix --seed=,$(SEED))

.PHONY: models
models: $(READY) ## the tests that draw their cases, with any seed (FIRST=seed, CASES=n in all, ONLY=part of a path; without it, of a few files)
	@$(PY) tests/tooling/models.py $(addprefix --first=,$(FIRST)) $(addprefix --cases=,$(CASES)) $(addprefix --only=,$(ONLY))

.PHONY: attack
attack: $(READY) ## every random generator with fresh seeds, side by side (MINUTES=10, ONLY=part of a name, SEED=n, JOBS=n)
	@$(PY) tests/tooling/attack.py $(addprefix --minutes=,$(MINUTES)) $(addprefix --only=,$(ONLY)) \
	  $(addprefix --seed=,$(SEED)) $(addprefix --jobs=,$(JOBS))

.PHONY: torture
torture: $(READY) ## kills, freezes, bad lines, full disks and wrong clocks at random moments, over real processes (PLAY=maintenance, MINUTES=n or KILLS=n, SEED=n, ON=sqlite, KEEP=DIR)
	@PYTHONPATH="tests$${PYTHONPATH:+:$$PYTHONPATH}" $(PY) -m support.torture $(addprefix --play=,$(PLAY)) \
	  $(addprefix --minutes=,$(MINUTES)) $(addprefix --kills=,$(KILLS)) $(addprefix --seed=,$(SEED)) \
	  $(addprefix --on=,$(ON)) $(addprefix --keep=,$(KEEP))

.PHONY: soak
soak: $(VENV)/.bench ## steady work with restarts now and then: do memory, files, threads, lag and log stay flat? (MINUTES=30, WARM_UP=n, ON=kafka, SEED=n, INTO=DIR)
	@$(PY) benchmarks/soak.py $(addprefix --minutes=,$(MINUTES)) $(addprefix --warm-up=,$(WARM_UP)) \
	  $(addprefix --seed=,$(SEED)) $(addprefix --on=,$(ON)) $(addprefix --into=,$(INTO))

.PHONY: page-pictures
page-pictures: $(READY) ## the pictures of the live page in docs/images, made anew by a browser
	@$(PY) -m pytest -q tests/page/test_page_in_browser.py -k pictures --page-pictures docs/images

.PHONY: lives
lives: $(READY) ## how many modules and functions take part in each life of docs/architecture.md (LIST=1 names them, ONLY=one life)
	@$(PY) tests/tooling/lives.py $(if $(LIST),--list) $(ONLY)

.PHONY: index
index: $(READY) ## write tests/INDEX.md: for each module, the tests to run after a change
	@PYTHONPATH="tests$${PYTHONPATH:+:$$PYTHONPATH}" $(PY) tests/tooling/pages/tests_index.py

.PHONY: spec-coverage
spec-coverage: $(READY) ## which test stands for which row of the Avro state test plan
	@$(PY) tests/tooling/pages/spec_coverage.py

.PHONY: bench
bench: $(addprefix bench-,$(BENCHMARKS)) ## every benchmark, one after the other

bench-%: $(VENV)/.bench ## one benchmark: benchmarks/NAME.py (BENCH_ARGS= adds options)
	$(PY) benchmarks/$*.py $(BENCH_ARGS)

.PHONY: docs
docs: $(VENV)/.docs ## the documentation as a web site, in site/
	@# Not --quiet, with which mkdocs doesn't count the warnings that --strict fails on.
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH="tests$${PYTHONPATH:+:$$PYTHONPATH}" $(PY) -m mkdocs build --strict
	@echo "built site/"

.PHONY: requirements
requirements: $(VENV)/.pin ## pin again after a change of dependencies (UPGRADE=--upgrade takes the newest)
	$(PIN) pyproject.toml --extra dev --output-file requirements/dev.txt
	$(PIN) pyproject.toml --extra all --constraint requirements/dev.txt --output-file requirements/run.txt
	$(PIN) --group build --constraint requirements/dev.txt --output-file requirements/build.txt
	@# Without the versions of requirements/dev.txt, whose Spark is another.
	$(PIN) --group engines --output-file requirements/engines.txt
	$(PIN) pyproject.toml --extra bench --constraint requirements/dev.txt --output-file requirements/bench.txt
	$(PIN) pyproject.toml --extra docs --constraint requirements/dev.txt --output-file requirements/docs.txt
	$(PIN) pyproject.toml --extra pin --constraint requirements/dev.txt --output-file requirements/pin.txt

PIN = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --no-annotate --no-header $(UPGRADE)

.PHONY: clean
clean: ## remove what was built and installed here
	rm -rf $(VENV) dist build site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@for python in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	  "$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  echo "making $(VENV) with $$("$$python" --version)"; \
	  exec "$$python" -m venv $(VENV); \
	done; \
	echo "Python 3.11 or newer, with its venv module, is not on PATH; install it, or name it: make PYTHON=/path/to/python3" >&2; \
	exit 1

$(LIBRARIES): requirements/dev.txt | $(PY)
	@echo "installing the libraries pinned in requirements/dev.txt (minutes, when nothing is cached)"
	$(call retry,$(PIP) --require-hashes -r requirements/dev.txt)
	@touch $@

$(READY): $(LIBRARIES) pyproject.toml schemas/headgate_schemas/version.py
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# What running needs, which is far less than what tests need, and the same versions.
$(RUNNING): requirements/run.txt requirements/build.txt pyproject.toml schemas/headgate_schemas/version.py | $(PY)
	@echo "installing the libraries pinned in requirements/run.txt"
	$(call retry,$(PIP) --no-compile --require-hashes -r requirements/run.txt -r requirements/build.txt)
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.bench $(VENV)/.docs $(VENV)/.pin: $(VENV)/.%: requirements/%.txt | $(READY)
	$(call retry,$(PIP) --require-hashes -r requirements/$*.txt)
	@touch $@

$(ENGINES)/.ready: requirements/engines.txt | $(PY)
	@echo "installing the engines pinned in requirements/engines.txt (half a gigabyte)"
	@$(PY) -m venv --clear $(ENGINES)
	$(call retry,$(ENGINES)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --require-hashes -r requirements/engines.txt)
	@touch $@
