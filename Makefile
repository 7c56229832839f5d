# `make demo` and `make test` set up what they need; nothing has to be installed by hand but Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup demo test check clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(READY)

demo: setup
	$(BIN)/regard data world sentences --out runs/world/data
	$(BIN)/regard train recipes/world-transformer.toml --run runs/demo $(if $(wildcard runs/demo/checkpoints/*),--resume)
	$(BIN)/regard evaluate runs/demo/model --source runs/world/data/test.en --reference runs/world/data/test.ko
	$(BIN)/regard align runs/demo/model --source runs/world/data/test.en --target runs/world/data/test.ko --gold runs/world/data/test.align --best --output runs/demo/test.align
	printf 'AI changes the world\nRobots must obey orders\n' | $(BIN)/regard translate runs/demo/model --scores

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
