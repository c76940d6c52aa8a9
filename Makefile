# `make demo` and `make test` work on a machine that has only Python 3.10 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What one process has compiled the next need not compile again: a command takes 1.3 s of processor time instead of 1.9,
# and tests start some hundreds. Images of containers often turn that off.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test torch series lint translations catalogues bench page native setup clean

demo: $(VENV)/.installed
	$(BIN)/stepscope demo

# Neighbours in a file stay on one process: what a module shares is made once.
test: $(VENV)/.tools
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Whole series, of which `make test` runs samples: the same cases in every run, or with `make series DRAW=anew` others.
series: $(VENV)/.tools
	STEPSCOPE_SERIES=$(or $(DRAW),whole) $(BIN)/python -m pytest -n 2 --dist worksteal -m series

# Recordings of real programs; torch has a virtual environment of its own, since nothing else needs it.
torch: $(VENV)-torch/.installed
	$(VENV)-torch/bin/python -m pytest tests/record/real

lint: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Which documents in Chinese are missing or out of date, or say something else than the English ones.
translations:
	@$(PYTHON) tests/language/documents.py

# Takes the texts of the code up into the catalogues of other languages, and says how many are to be translated.
catalogues: $(VENV)/.tools
	$(BIN)/python -m translation

# Builds the page of `stepscope view` from its sources, with Node; what is built is committed.
page:
	cd page && npm ci --silent && npm run --silent check && npm run --silent build

# Builds the compiled functions from their C sources; what is built is committed. The compiler comes from PyPI.
NATIVE := src/stepscope/native
OBJECTS := $(patsubst $(NATIVE)/source/%.c,build/native/%.o,$(sort $(wildcard $(NATIVE)/source/*.c)))
ZIG := $(BIN)/python -m ziglang

native: $(VENV)/.compiler
	@$(MAKE) --no-print-directory --always-make $(NATIVE)/functions.wasm

$(NATIVE)/functions.wasm: $(OBJECTS)
	$(ZIG) wasm-ld --no-entry --strip-all --stack-first -z stack-size=65536 --max-memory=4294967296 \
		--export=__heap_base -o $@ $(OBJECTS)
	chmod 644 $@

build/native/%.o: $(NATIVE)/source/%.c
	@mkdir -p $(@D)
	$(ZIG) cc --target=wasm32-freestanding -std=c11 -O3 -g0 -fwrapv -msimd128 -mbulk-memory -nostdlib \
		-ffreestanding -Wall -Wextra -Werror -c -o $@ $<

# Against HTA, ranks per second and the first process's memory, against msprof-analyze, and the page.
bench: $(VENV)/.tools
	$(BIN)/python -m bench $(ARGS)
	$(BIN)/python -m bench.cluster.speed 8
	$(BIN)/python -m bench.cluster.reduction 1024
	$(BIN)/python -m bench.msprof
	$(BIN)/python -m bench.page

setup: $(VENV)/.tools

# What pip says shows that it works: half a minute to some minutes, depending on the network.
$(VENV)/.installed: pyproject.toml
	@echo "Installing stepscope and its libraries (350 MB) into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.tools: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test --group lint
	touch $@

$(VENV)/.compiler: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group native
	touch $@

$(VENV)-torch/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-torch
	$(VENV)-torch/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)-torch/bin/python -m pip install --quiet --editable . --group torch
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-torch build page/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
