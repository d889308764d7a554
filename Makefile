# Thin: each target is what one would type, in the environment that uv keeps.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo wheel check check-all lint types unit integration mutants clean

# Interpreters come from the distribution, not from the net.
export UV_PYTHON_DOWNLOADS := never

# Tests start Temper many times, and without bytecode each takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

UV = $(shell command -v uv || echo .tools/bin/uv)
RUN = $(UV) run --locked
# What a shell runs in the background ignores Ctrl-C, which tests send.
# A store that others read gets nothing that a test has made.
PYTEST = env --default-signal=INT --unset=TEMPER_SHARED_CACHE $(RUN) pytest
SCRIPTS = temper scripts/setup scripts/check-setup scripts/picture .ci/run \
	libvgetrandom/tests/statistics_battery.sh libvgetrandom/tests/rust.sh \
	libvgetrandom/debian/tests/link libvgetrandom/debian/tests/preload
C_FILES = $(shell find emulator target plugin features options libvgetrandom tests/integration -name '*.[ch]' -not -path '*/build/*')

help: ## Say what can be made (default)
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## Install what is missing, with apt-get and uv
	@scripts/setup $(SETUP)

demo: setup ## Prove and price our series of kstack; write report.html
	./temper prove kstack --control temper-off --variants temper --proofs prediction
	./temper price kstack --baseline temper-off --variants temper
	./temper report --html report.html
	@echo "The report: $(CURDIR)/report.html"
	@echo "Beside the kernel's own randomisation, which builds a second kernel:"
	@echo "  ./temper price kstack --variants stock,temper"
	@echo "All variants and all proofs, which build 3 more kernels and take a while:"
	@echo "  ./temper prove kstack"
	@echo "  ./temper price kstack"

wheel: setup ## Make dist/*.whl, to install with pipx or `uv tool install`
	$(UV) build --wheel

# Prerequisites see this too: their setup installs what the tests need.
check integration: SETUP = check
check-all: SETUP = check-all

# What is long and seldom decides: CONTRIBUTING says what that is.
CHOSEN = -m 'not check_all'
check-all: CHOSEN =

check: lint types unit integration ## Run lint, types, the tests (an hour or so when cold)

check-all: lint types unit integration ## Run all tests, and setup on a clean Debian (hours)
	scripts/check-setup

lint: setup ## Check the style of Python, shell and C, and who imports what
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) lint-imports
	$(RUN) shellcheck $(SCRIPTS)
	$(RUN) clang-format --dry-run --Werror $(C_FILES)

types: setup ## Check the types of the lab, its features and its tests
	$(RUN) mypy src tests scripts libvgetrandom/bench libvgetrandom/examples libvgetrandom/tests
	$(RUN) mypy --explicit-package-bases $(wildcard features/*/judges features/*/events features/*/outside features/*/plots.py)
	$(RUN) mypy features/kstack/analysis
	$(RUN) mypy features/scs-switch/analysis

unit: setup ## Run the tests that need no kernel (minutes)
	$(PYTEST) -n auto tests/unit

# Kernels first: a build takes longer than a test may, and makes the ticks of guests late.
# Two builds at once, since each links on one CPU; their progress comes in plain lines.
define KERNELS
kstack --variants stock,temper
kpkeys --variants temper
scs-switch --arch arm64 --variants reverted,temper,none
endef
export KERNELS

integration: setup ## Run the tests with real builds and boots (minutes)
	echo "$$KERNELS" | TERM=dumb xargs -P 2 -L 1 ./temper build
	$(PYTEST) -v -n 2 $(CHOSEN) --durations=20 tests/integration
	$(PYTEST) -v $(CHOSEN) tests/afterwards

mutants: SETUP = check
mutants: setup ## Break judges and statistics line by line: do tests notice? (minutes)
	.venv/bin/python scripts/judge_mutants.py --sample 200

clean: ## Remove what was made in this folder; kernels and results stay
	rm -rf .venv .tools dist .mypy_cache .pytest_cache .ruff_cache report.html
	find src features tests -name __pycache__ -prune -exec rm -rf {} +
