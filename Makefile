# Everything that Shoal needs from a checkout. `make help` lists the targets.

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# Who builds once and never again needs no files for the next build; they are gigabytes.
ifdef CI
export CARGO_INCREMENTAL ?= 0
endif
# For `make run`: where the data lives and on which port; more options for `shoal dev` in ARGS.
DATA_DIR ?= shoal-data
PORT ?= 3306
ARGS ?=
# For `make bench`, `make bench-cluster` and `make bench-net`: options of `shoal-bench compare`, `cluster` and `net`, for example
# BENCH="--quick" or BENCH="--only insert".
BENCH ?=
# For `make rough`: options of `shoal-bench rough`, for example ROUGH="--quick" or ROUGH="--only hot-row".
ROUGH ?=
# For `make sim`.
SEEDS ?= 20000

# For `make mutants`: options of cargo-mutants, by default for every fifteenth mutant, about 200 of them. `.cargo/mutants.toml` says where and
# with which tests.
MUTANTS ?= --shard 0/15 --sharding round-robin

# For `make test-applications`: which programs, by default all of `scripts/applications`; and options, for example
# APPLICATIONS="--cluster peewee knex".
APPLICATIONS ?=

# For `make soak`: how long, and which faults.
SOAK ?=

.DEFAULT_GOAL := help
# For `make python` and `make python-test`: the Python that builds the package and tries it, and how it is built.
PYTHON_DIR = $(abspath $(TARGET_DIR))/python
PYTHON_PROFILE ?= dist
PYTHON_WHEELS ?= $(TARGET_DIR)/wheels
PYTHON_PACKAGES = "maturin>=1.9,<2" "mypy>=1.18,<2"

.PHONY: run build dist deb test test-applications python python-test bench bench-cluster bench-kv bench-kv-packages bench-native bench-net allocators rough sim sim-planted differential mutants soak lint help test-packages applications-packages python-packages bench-packages bench-cluster-packages

run: build ## Build Shoal and start it on this machine (PORT, DATA_DIR, ARGS)
	exec $(TARGET_DIR)/release/shoal dev --data-dir $(DATA_DIR) --mysql-port $(PORT) $(ARGS)

build: ## Build the release binary
	$(CARGO) build --release --package shoal

dist: ## Build the binary that is packaged and measured: slower to build, faster to run
	$(CARGO) build --profile dist --package shoal

deb: dist ## Build the Debian package, in TARGET/deb
	@scripts/build-deb $(TARGET_DIR)/dist/shoal $(TARGET_DIR)/deb

test: test-packages build ## Install the client packages, build, run every test
	SHOAL_BINARY=$(abspath $(TARGET_DIR)/release/shoal) $(CARGO) test --workspace --exclude shoal-python --lib --bins --tests
	$(CARGO) test --workspace --exclude shoal-python --doc
	$(MAKE) python-test

test-applications: applications-packages build ## Run object mappers and migration tools on Shoal, and dump what they made (APPLICATIONS="--cluster peewee knex")
	@scripts/applications/run --shoal-binary $(abspath $(TARGET_DIR)/release/shoal) --folder $(abspath $(TARGET_DIR))/applications $(APPLICATIONS)

python: python-packages ## Build the Python package: a wheel for every Python from 3.9 on, in TARGET/wheels
	@scripts/python-environment $(PYTHON_DIR) $(PYTHON_PACKAGES)
	rm -f $(PYTHON_WHEELS)/shoal-*.whl
	$(PYTHON_DIR)/bin/maturin build --profile $(PYTHON_PROFILE) --manifest-path crates/python/Cargo.toml --out $(PYTHON_WHEELS)

python-test: build test-packages ## Try the Python package on a cluster
	$(MAKE) python PYTHON_PROFILE=release PYTHON_WHEELS=$(PYTHON_DIR)/wheels
	$(PYTHON_DIR)/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(PYTHON_DIR)/wheels/shoal-*.whl
	cd crates/python && $(PYTHON_DIR)/bin/mypy python/shoal
	cd crates/python && $(PYTHON_DIR)/bin/python -m mypy.stubtest shoal._shoal --concise --ignore-positional-only --ignore-disjoint-bases --allowlist tests/stubtest.allow
	cd crates/python && SHOAL_BINARY=$(abspath $(TARGET_DIR)/release/shoal) $(PYTHON_DIR)/bin/python -W default -m unittest discover -t . -s tests

bench: bench-packages dist ## Measure side by side with MariaDB (BENCH="--quick" for four minutes)
	$(CARGO) build --profile dist --package shoal-bench
	$(TARGET_DIR)/dist/shoal-bench compare --shoal-binary $(TARGET_DIR)/dist/shoal $(BENCH)

bench-cluster: bench-cluster-packages dist ## Measure a cluster: beside Galera, and nodes that die (BENCH="--quick" for five minutes)
	$(CARGO) build --profile dist --package shoal-bench
	$(TARGET_DIR)/dist/shoal-bench cluster --shoal-binary $(TARGET_DIR)/dist/shoal $(BENCH)

bench-net: bench-packages allocators ## Measure TLS, compression, connections, many clients, statistics, allocators beside MariaDB (BENCH="--quick" for five minutes)
	$(CARGO) build --profile dist --package shoal
	$(CARGO) build --profile dist --package shoal-bench
	$(TARGET_DIR)/dist/shoal-bench net --shoal-binary $(TARGET_DIR)/dist/shoal $(BENCH)

# Builds with other allocators, beside the usual one, which is made after them: all are linked to the same file.
allocators:
	for allocator in jemalloc system; do \
		$(CARGO) build --profile dist --package shoal --features $$allocator && \
		cp $(TARGET_DIR)/dist/shoal $(TARGET_DIR)/dist/shoal-$$allocator || exit 1; \
	done

rough: bench-cluster-packages dist ## Loads that friendly benchmarks lack, beside MariaDB (ROUGH="--quick" for small ones)
	$(CARGO) build --profile dist --package shoal-bench
	$(TARGET_DIR)/dist/shoal-bench rough --shoal-binary $(TARGET_DIR)/dist/shoal $(ROUGH)

bench-kv: bench-kv-packages dist ## Measure rows by key beside HandlerSocket, memcached and Redis (BENCH="--quick" for a minute)
	$(TARGET_DIR)/dist/shoal bench kv --json bench/results/kv.json --html bench/results/kv.html $(BENCH) > bench/results/kv.md
	@cat bench/results/kv.md

bench-native: dist ## Measure the native client beside SQL and HandlerSocket, on two data nodes (about two minutes)
	$(TARGET_DIR)/dist/shoal bench read-perf --json bench/results/read-perf.json > bench/results/read-perf.txt
	$(TARGET_DIR)/dist/shoal bench flex --json bench/results/flex.json > bench/results/flex.txt
	@cat bench/results/read-perf.txt bench/results/flex.txt

sim: ## Simulate clusters, and the log on failing disks (SEEDS=20000)
	$(CARGO) run --release --package shoal-sim -- --seeds $(SEEDS)

# For `make differential`: how many seeds, how many statements each, and further options, for example DIFFERENTIAL="--only own".
STATEMENTS ?= 500
DIFFERENTIAL ?=
differential: SEEDS = 20
differential: bench-packages build ## Random SQL: beside MariaDB, against itself, on a cluster (SEEDS=20 STATEMENTS=500)
	SHOAL_BINARY=$(abspath $(TARGET_DIR)/release/shoal) $(CARGO) run --package shoal-system-tests --example differential -- \
		--seeds $(SEEDS) --statements $(STATEMENTS) $(DIFFERENTIAL)

sim-planted: ## Plant bugs, and see after how many seeds the simulator finds each
	$(CARGO) run --release --package shoal-sim --features planted-bugs -- --planted --seeds 500

mutants: ## Break the code in many small ways and see which the tests do not notice (slow: hours; needs cargo-mutants; MUTANTS="--shard 1/15")
	$(CARGO) mutants $(MUTANTS)

soak: test-packages dist ## Break clusters of local processes in sixteen ways and judge them (SOAK="--minutes 60 --seed 7", "--help")
	SHOAL_BINARY=$(abspath $(TARGET_DIR)/dist/shoal) $(CARGO) run --package shoal-system-tests --example soak -- $(SOAK)

lint: ## Check the formatting and the lints
	scripts/same-features
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test-packages:
	@scripts/install-packages mariadb-client percona-toolkit sysbench iproute2 nftables strace libfaketime chromium \
		python3=python3 python3-venv node=nodejs npm=npm javac=default-jdk-headless mvn=maven go=golang-go
	@scripts/client-packages $(abspath $(TARGET_DIR))/clients $(abspath crates/system-tests/clients)

applications-packages:
	@scripts/install-packages mariadb-client python3=python3 python3-venv node=nodejs npm=npm go=golang-go javac=default-jdk-headless mvn=maven \
		libmariadb-dev libmariadb-dev-compat pkg-config=pkg-config

python-packages:
	@scripts/install-packages python3 python3-venv

bench-packages: test-packages
	@scripts/install-packages mariadb-server

bench-kv-packages: bench-packages
	@scripts/install-packages memcached redis-server

bench-cluster-packages: bench-packages
	@scripts/install-packages galera-4 mariadb-backup socat
