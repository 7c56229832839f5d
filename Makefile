# `make demo` and `make test` set up what they need; nothing has to be installed by hand but Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEV_READY := .venv/.ready-dev
EXTRAS := ctranslate2,gguf,hf,plot,pretrained
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

LOCKED := --all-extras --no-emit-project --no-hashes --no-annotate --no-header --quiet

.PHONY: setup setup-dev demo pretrained test test-failed test-fast check docs wheel lock clean

setup: $(READY)

# What a user needs: about half of the size and of the time of what the tests need.
$(READY): pyproject.toml constraints.txt
	@echo "Installing regard into .venv, once: one or two minutes, 1.3 GB."
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	touch $(READY)

setup-dev: $(DEV_READY)

$(DEV_READY): $(READY)
	@echo "Installing what the tests need into .venv, once: about two minutes, 1.5 GB more."
	$(PIP_INSTALL) -e '.[dev]'
	touch $(DEV_READY)

demo: setup
	$(BIN)/regard demo

# Train the models that come with regard again, and compare the figures: about three hours on two cores. Without the text of
# Tatoeba it says where to get it; PRETRAINED="--tatoeba FOLDER" gives its folder.
pretrained: setup
	$(BIN)/python benchmarks/pretrained.py $(PRETRAINED)

# Two tests run side by side, and torch's threads would spin for each other on a core that the other test needs.
test: setup-dev
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist worksteal

# The tests that failed in the last run, one at a time on an idle machine: what passes now depends on load, and is a defect of the test.
test-failed: setup-dev
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -v

# What can be run after every change: no browser, no Node, no strace, no server process, nothing that trains for long.
test-fast: setup-dev
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest tests/unit tests/laws tests/references -m "not slow" -n 2 --dist worksteal

check: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if command -v npm > /dev/null; then npm install --silent --no-audit --no-fund && npm run --silent check; \
	else echo "npm is not installed: the page's JavaScript is not checked"; fi

# The site is in build/docs and needs no server: open build/docs/README.html. A broken link fails the build.
docs: setup-dev
	rm -rf build/docs build/doctrees
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --doctree-dir build/doctrees docs build/docs

# The wheel in dist/, tried as a user would: in a new environment and an empty folder.
wheel: setup
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	.ci/smoke dist/*.whl

# After a change of the dependencies: versions that are pinned stay, new ones are added to both files.
lock: setup-dev
	$(BIN)/uv lock --no-config
	$(BIN)/uv export --no-config $(LOCKED) --output-file constraints.txt > /dev/null

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
