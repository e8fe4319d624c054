# Every target sets up what it needs in .venv; nothing but Python 3.10 to 3.13 and make has to be there before.
PYTHON ?= python3
# Another torch than pip would choose; name its torchvision too:
#   make install TORCH="torch==2.7.1 torchvision==0.22.1 --index-url https://download.pytorch.org/whl/cu126"
TORCH ?=
MMPOSE := mmpose==1.3.2
BIN := .venv/bin

.PHONY: help install demo test fuzz soak lint benchmark doctor clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

install: .venv/installed ## install hetpose and all it needs in .venv

# mmpose goes in without its dependencies: it declares chumpy, which no longer builds and which it never imports.
.venv/installed: pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 10) <= v <= (3, 13) else \
	    "hetpose needs Python 3.10 to 3.13, this is %d.%d: make PYTHON=python3.13 install" % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(if $(TORCH),$(BIN)/python -m pip install --quiet $(TORCH))
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps "$(MMPOSE)"
	$(BIN)/python -m hetpose doctor
	touch $@

# A torch that is named is installed, whatever was there before.
ifneq ($(TORCH),)
.PHONY: .venv/installed
endif

demo: install ## pseudo-labels, training with the switch, evaluation and a picture, on generated images
	$(BIN)/python tools/demo.py

test: install ## run the tests
	$(BIN)/python -m pytest -n auto --dist loadfile

fuzz: install ## ten thousand damaged inputs: each must end well or in an error that names it
	$(BIN)/python tests/fuzz --cases 10000

soak: install ## memory and file handles over 2,000 training steps and 500 predicted images
	$(BIN)/python tests/soak

lint: install ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: install ## our closed forms against the definitions, as ratios measured in one run
	$(BIN)/python tools/benchmark.py all

doctor: install ## what is installed against what was tested
	$(BIN)/python -m hetpose doctor

clean: ## remove the environment
	rm -rf .venv
