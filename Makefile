# Everything a contributor runs. From a machine with Rust, Python >= 3.11 and make alone,
# `make demo` and `make test` do the whole set-up: .venv, build tools from PyPI, wheel, run.
# Stamp files make each step run once per change of what it depends on.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# The first interpreter that is new enough; override with `make PYTHON=/path/to/python test`.
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))
VENV   := .venv
BIN    := $(VENV)/bin
BENCH  := .venv-bench
LOCKED := $(if $(CI),--locked)
comma  := ,
# Tests run side by side; a process that is done takes over tests of another.
SPREAD := -n $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 8 ? n : 8))) --dist worksteal
BEGIN  := $(shell date +%s)
PIP    := -m pip --disable-pip-version-check install --quiet

RUST_SOURCES   := $(shell find src -type f 2>/dev/null)
PYTHON_SOURCES := $(shell find python -type f ! -name '*.pyc' ! -name '*.so' 2>/dev/null)
MANIFESTS      := Cargo.toml $(wildcard Cargo.lock) pyproject.toml tools/release.profdata README.md LICENSE-MIT LICENSE-APACHE

export PIP_NO_INPUT := 1
export CARGO_TERM_PROGRESS_WHEN := never

# $(call step,title,command): runs the command under a heading and says how long it took.
define step
@printf '\n==> %s\n' "$(1)"; begin=$$SECONDS; { $(2); } || exit 1; printf '    done in %d s\n' $$((SECONDS - begin))
endef

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

# --- environments ------------------------------------------------------------------------------

$(VENV)/.created:
	@[ -n "$(PYTHON)" ] || { echo "error: no Python >= 3.11 on PATH; install one or run make PYTHON=/path/to/python3"; exit 1; }
	@command -v cargo >/dev/null || { echo "error: no cargo on PATH; install Rust 1.95 or later"; exit 1; }
	$(call step,create $(VENV) with $(PYTHON),$(PYTHON) -m venv $(VENV))
	@touch $@

$(VENV)/.builders: $(VENV)/.created
	$(call step,install maturin and libdeflate,$(BIN)/python $(PIP) 'maturin>=1.9.4$(comma)<2' 'deflate~=0.9')
	@touch $@

$(VENV)/.dev: pyproject.toml tools/requirements.py $(VENV)/.created
	$(call step,install the development tools,$(BIN)/python tools/requirements.py dev demo mpi | xargs -d '\n' $(BIN)/python $(PIP))
	@touch $@

$(VENV)/.demo: pyproject.toml tools/requirements.py $(VENV)/.created
	$(call step,install the packages of the demo,$(BIN)/python tools/requirements.py demo | xargs -d '\n' $(BIN)/python $(PIP))
	@touch $@

# --- the wheel ---------------------------------------------------------------------------------

# The linker that rustc brings can put similar functions side by side and keep equal ones once: the wheel is 7 % smaller. Not
# every linker can.
SORTED := -Clink-arg=-Wl,--bp-compression-sort=both -Clink-arg=-Wl,--icf=all
BUILD  := if rustc $${RUSTFLAGS:-} $(SORTED) -o $(VENV)/.linked - <<<'fn main() {}' 2>/dev/null; then export RUSTFLAGS="$${RUSTFLAGS:-} $(SORTED)"; fi; rm -f $(VENV)/.linked

dist/.built: $(RUST_SOURCES) $(PYTHON_SOURCES) $(MANIFESTS) | $(VENV)/.builders
	@rm -f dist/*.whl
	$(call step,build the wheel,$(BUILD); $(BIN)/maturin build --release $(LOCKED) --quiet --interpreter $(BIN)/python --out dist)
	$(call step,compress it further,$(BIN)/python tools/recompress.py dist/*.whl)
	@touch $@

$(VENV)/.wheel: dist/.built
	$(call step,install the wheel,$(BIN)/python $(PIP) --force-reinstall --no-deps dist/*.whl && $(BIN)/python $(PIP) dist/*.whl)
	@touch $@

.PHONY: wheel
wheel: $(VENV)/.wheel ## build the wheel and install it into .venv

.PHONY: demo
demo: $(VENV)/.wheel $(VENV)/.demo ## train a network on handwritten digits; pictures go to examples/out
	$(call step,examples/digits.py,$(BIN)/python examples/digits.py)

# --- checks ------------------------------------------------------------------------------------

# The wheel is mostly built on one core, so the checks of the crate run beside it.
.PHONY: test
test: $(VENV)/.builders $(VENV)/.dev ## everything CI checks
	@$(MAKE) lint test-rust test-package & crate=$$!; built=0; $(MAKE) $(VENV)/.wheel || built=1; wait $$crate && exit $$built
	@$(MAKE) test-python cost
	@printf '\nall checks passed in %d s\n' $$(($$(date +%s) - $(BEGIN)))

.PHONY: lint
lint: $(VENV)/.dev ## formatting, clippy on both feature sets, ruff, unused dependencies
	$(call step,cargo fmt --check,cargo fmt --check)
	$(call step,ruff,$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .)
	$(call step,unused dependencies,$(BIN)/python tools/dependencies.py)
	$(call step,clippy: the Rust crate,cargo clippy $(LOCKED) --quiet --all-targets -- -D warnings)
	$(call step,clippy: with the Python bindings,PYO3_PYTHON=$(abspath $(BIN)/python) cargo clippy $(LOCKED) --quiet --lib --features python -- -D warnings)

.PHONY: test-rust
test-rust: loom ## the Rust crate alone: unit, integration and doc tests, the Rust example
	$(call step,cargo test,cargo test $(LOCKED) --quiet)
	$(call step,examples/quickstart.rs,cargo run $(LOCKED) --quiet --example quickstart)
	$(call step,cargo doc,RUSTDOCFLAGS='-D warnings' cargo doc $(LOCKED) --quiet --no-deps)

.PHONY: loom
loom: ## the arena's counting protocols under loom
	$(call step,loom,cargo test $(LOCKED) --quiet --lib --manifest-path tests/loom/Cargo.toml --target-dir target/loom)

# The package is checked in a target folder of its own: in the common one cargo would take its files for those of the crate.
.PHONY: test-package
test-package: ## what cargo package ships is a whole crate
	$(call step,cargo package,cargo package $(LOCKED) --quiet --allow-dirty --no-verify)
	@rm -rf target/shipped && mkdir -p target/shipped && tar -xf target/package/ferrograd-*.crate -C target/shipped --strip-components 1
	$(call step,cargo check of the package,cargo check $(LOCKED) --quiet --manifest-path target/shipped/Cargo.toml --target-dir target/of-package)

.PHONY: quick
quick: $(VENV)/.wheel $(VENV)/.dev ## for daily work: ruff, and a part of every Python test (ARGS="tests/engine")
	$(call step,ruff,$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .)
	$(call step,pytest,$(BIN)/python -m pytest -q --quick $(SPREAD) $(ARGS))

.PHONY: test-python
test-python: $(VENV)/.wheel $(VENV)/.dev ## the installed wheel: pytest, stubs, types
	$(call step,mypy,$(BIN)/python -m mypy)
	$(call step,pytest,$(BIN)/python -m pytest -q --durations=5 $(SPREAD))

.PHONY: cost
cost: $(VENV)/.wheel ## the size of the wheel, and instructions of small operations beside their baseline
	@du --apparent-size --block-size=KB dist/*.whl
	$(call step,instructions of small operations,$(BIN)/python benches/instructions.py --check)

.PHONY: fuzz
fuzz: $(VENV)/.wheel $(VENV)/.dev ## hostile calls of every public name, operations without memory, random NumPy programs, writes through NumPy (ARGS="--calls 1000000" IDIOMS="--seed 7" ALIASES="--every 50")
	PYTHONPATH=tests $(BIN)/python -m hostile.sweep $(ARGS)
	PYTHONPATH=tests $(BIN)/python -m hostile.endless $(ENDLESS)
	PYTHONPATH=tests $(BIN)/python -m hostile.memory
	PYTHONPATH=tests $(BIN)/python -m idioms.sweep $(IDIOMS)
	PYTHONPATH=tests $(BIN)/python -m idioms.closures $(CLOSURES)
	PYTHONPATH=tests $(BIN)/python -m hostile.aliases $(ALIASES)
	PYTHONPATH=tests $(BIN)/python -m hostile.scratch $(SCRATCH)

.PHONY: sanitize
sanitize: $(VENV)/.dev ## the tests under AddressSanitizer, those of threads under ThreadSanitizer (ARGS="--wide tests/kernels")
	$(BIN)/python tools/sanitize.py $(ARGS)

.PHONY: fmt
fmt: $(VENV)/.dev ## format Rust and Python
	cargo fmt
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

.PHONY: stubs
stubs: $(VENV)/.wheel ## write what derives from the operations and from the table of names: stubs, docs, methods
	$(BIN)/python tools/stubs.py

.PHONY: names
names: $(VENV)/.wheel ## accept the public names and signatures that there are now
	$(BIN)/python tools/public_names.py --write

.PHONY: nn
nn: $(VENV)/.wheel ## write the tables of docs/nn.md: the names of torch.nn
	$(BIN)/python tools/nn_table.py

.PHONY: optim
optim: $(VENV)/.wheel ## write the tables of docs/optim.md: the names of torch.optim
	$(BIN)/python tools/optim_table.py

.PHONY: scipy
scipy: $(VENV)/.wheel ## write docs/scipy.md and docs/scikit_learn.md: their functions on tensors
	$(BIN)/python tools/scientific/scipy_table.py
	$(BIN)/python tools/scientific/sklearn_table.py

$(VENV)/.coverage: pyproject.toml tools/requirements.py $(VENV)/.dev
	$(call step,install the tools that read counts of Rust code,$(BIN)/python tools/requirements.py coverage | xargs -d '\n' $(BIN)/python $(PIP))
	@touch $@

.PHONY: coverage
coverage: $(VENV)/.coverage ## lines of the Python package and of the Rust trampoline that the tests run
	$(BIN)/python tools/coverage_report.py $(ARGS)

.PHONY: profile
profile: $(VENV)/.coverage ## the profile that release builds are optimised with, from the training of tools/pgo_training.py
	$(BIN)/python tools/pgo.py

.PHONY: picture
picture: $(VENV)/.wheel $(VENV)/.demo ## draw the picture of the README from its table of figures
	$(BIN)/python tools/picture.py

.PHONY: docs
docs: stubs ## the operation table and the Rust documentation
	cargo doc --no-deps
	@echo "docs/README.md is the index; Rust: target/doc/ferrograd/index.html"

# --- measurements ------------------------------------------------------------------------------

$(BENCH)/.created: benches/requirements.txt | $(VENV)/.created
	$(call step,create $(BENCH): large$(comma) it holds PyTorch,$(PYTHON) -m venv $(BENCH) && $(BENCH)/bin/python $(PIP) -r benches/requirements.txt)
	@touch $@

$(BENCH)/.wheel: dist/.built $(BENCH)/.created
	$(call step,install the wheel into $(BENCH),$(BENCH)/bin/python $(PIP) --force-reinstall --no-deps dist/*.whl)
	@touch $@

.PHONY: bench
bench: $(BENCH)/.wheel ## time ours beside PyTorch and others (ARGS="--quick --only small" ISA=avx2)
	$(BENCH)/bin/python benches/run.py $(if $(ISA),--isa $(ISA)) $(ARGS)

.PHONY: compare
compare: $(VENV)/.wheel ## time this build beside another one (OLD=/path/to/its/python ARGS="--quick --only small")
	$(BIN)/python benches/compare_builds.py $(OLD) $(BIN)/python $(ARGS)

.PHONY: clean
clean: ## remove everything that make created
	cargo clean --quiet
	rm -rf $(VENV) $(BENCH) dist docs/build examples/out .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
