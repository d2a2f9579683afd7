# `make demo` and `make test` set everything up on a machine that has Python 3.11 or later, git and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto

# Tests and commands start many processes, each of which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test newcomer laws proofs wrong mutants fuzz growth fixed-points coverage lint types site types-of-site fuzz-files bench exports tables figures docs clean

demo: $(VENV)/.models
	$(BIN)/python benchmarks/demo.py

test: $(VENV)/.models
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q $(OPTIONS)

# The wheel in an empty environment, three models, the lines of README's table; ROWS=4 takes more of them.
ROWS ?= 3

newcomer: $(VENV)/.made
	$(BIN)/python .ci/newcomer.py --rows $(ROWS) $(OPTIONS)

# Random graphs for so many seconds, by SEED; what fails is shrunk and kept in build/fuzz.  See the docs, Development.
SECONDS ?= 60
SEED ?= 0

fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzzing --seconds $(SECONDS) --seed $(SEED) $(OPTIONS)

# Small graphs whose e-graphs are large, looked for uphill.
growth: $(VENV)/.dev
	$(BIN)/python -m tests.fuzzing --growth --seconds $(SECONDS) --seed $(SEED) --save build/growth $(OPTIONS)

# Whether a second optimisation changes anything, on the trained models and those of FOLDER; takes long.
fixed-points: $(VENV)/.models
	$(BIN)/python benchmarks/fixed_points.py trained $(wildcard $(FOLDER)) $(OPTIONS)

# All wrong laws, of which `make test` tries a few, and that each is wrong.
wrong: $(VENV)/.dev
	ALL_WRONG_LAWS=1 $(BIN)/python -m pytest -n $(WORKERS) -q tests/check/test_wrong_laws.py tests/wrong $(OPTIONS)

# The project with one thing wrong at a time (tests/mutants): which of them no test notices; takes long.
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants $(OPTIONS)

# All laws, or with WHICH=changed those that have changed since, on many terms, and every one of their conditions;
# writes which of them passed (tests/rewrites/accepted.json).  All take two hours.
WHICH ?= all

laws: $(VENV)/.dev
	LAWS=$(WHICH) $(BIN)/python -m pytest -n $(WORKERS) -q tests/rewrites/test_laws.py $(OPTIONS)

# Which laws are proved (egraph_opt/laws/proofs.json): those whose text has changed, or, where the prover has
# changed or with OPTIONS=--all, all; that takes half an hour.
proofs: $(VENV)/.dev
	$(BIN)/python -m egraph_opt.proofs.answers $(OPTIONS)

# `make test` with the branch coverage of the engine by package, which takes half as long again.
coverage:
	$(MAKE) test OPTIONS="--cov --cov-report="

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Types are checked on an installed wheel: type checkers do not follow the mapping of rewrites/ and cost_models/.
types: site types-of-site

site: $(VENV)/.dev
	rm -rf build
	$(BIN)/python -m pip wheel -q --no-deps -w build/wheel .
	$(BIN)/python -m pip install -q --no-deps --target build/site build/wheel/*.whl
	ln -sfn ../../tests build/site/tests

types-of-site:
	cd build && MYPYPATH=site:../benchmarks ../$(BIN)/python -m mypy --config-file ../pyproject.toml -p egraph_opt -p tests
	cd build && MYPYPATH=site:../benchmarks ../$(BIN)/python -m mypy --config-file ../pyproject.toml ../benchmarks ../docs

# Bad files through the command line: the corpus, then models that are damaged by lot.
FILES ?= 1000
SEED ?= 0

fuzz-files: $(VENV)/.dev
	$(BIN)/python -m tests.hostile --files $(FILES) --seed $(SEED)

# The results that tables are made of.  What is compared with is installed first; the models of the tables of
# exports are made by `make exports`, or lie in another FOLDER.  Takes long; `make tables` comes next.
FOLDER ?= .networks/exports
RESULTS := benchmarks/results

bench: $(VENV)/.models $(VENV)/.bench
	$(BIN)/python benchmarks/models.py trained --json $(RESULTS)/trained.json
	$(BIN)/python benchmarks/models.py light --json $(RESULTS)/light.json
	@if [ -d "$(FOLDER)" ]; then \
		$(BIN)/python benchmarks/models.py "$(FOLDER)" --json $(RESULTS)/exports.json; \
	else \
		echo "exports.json stays as it is, and latency.json lacks exports: there is no $(FOLDER);" \
			"\`make exports\` makes it" >&2; \
	fi
	$(BIN)/python benchmarks/tensat.py --json $(RESULTS)/tensat.json
	$(BIN)/python benchmarks/comparing.py trained light $(wildcard $(FOLDER)) --json $(RESULTS)/compare.json
	$(BIN)/python benchmarks/latency.py trained $(wildcard $(FOLDER)) light \
		--costs onnxruntime,onnxruntime+onnxruntime.operators --json $(RESULTS)/latency.json
	$(BIN)/python benchmarks/latency.py trained $(wildcard $(FOLDER)) --threads 2 --json $(RESULTS)/latency2.json
	$(BIN)/python benchmarks/speed.py trained $(wildcard $(FOLDER)) --costs nodes --runs 3 --json $(RESULTS)/speed.json
	$(BIN)/python benchmarks/node_cases.py

# The models of the tables of exports, from PyTorch.
exports: $(VENV)/.networks
	$(BIN)/python benchmarks/exports.py -o "$(FOLDER)"

# The tables of the pages, from the results that are committed.
tables: $(VENV)/.dev
	$(BIN)/python benchmarks/figures.py

figures: tables

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q -f docs/mkdocs.yml

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	touch $@

$(VENV)/.networks: $(VENV)/.dev
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[networks]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	touch $@

$(VENV)/.models: $(VENV)/.dev tests/models.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -r tests/models.txt
	touch $@

clean:
	rm -rf build dist site .demo .networks .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
