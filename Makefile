# SPDX-License-Identifier: Apache-2.0
# Short names for what people and CI run; CMake does the work.
FUZZ_SECONDS ?= 20
SOAK_REQUESTS ?= 100000
SOAK_SECONDS ?= 15
export CLUSTER_COMMAND = $(value COMMAND)
.DEFAULT_GOAL := help
.PHONY: help deps build demo test goldens check-asan check-tsan build-arm64 arm64-test lint format generate chart chart-test fuzz bench bench-api soak release-check e2e lab oracle image image-test deb deb-test report-test clean

help: ## list these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

.DEFAULT:
	@echo "make: there is no target $@; make alone lists them" >&2; exit 2

deps: ## install what building and testing need (Debian packages)
	@scripts/install-deps

# Two builds at a time would write the same files.
RELEASE = mkdir -p build && flock build/release.lock
build: deps ## build/release/bin/{nccl-env,nccl-env-webhook,nccl-env-agent}
	$(RELEASE) sh -c 'cmake --preset release && cmake --build --preset release --target nccl-env nccl-env-webhook nccl-env-agent'

# What `make image`, `deb` and `portable` are for: this machine, and arm64 where its root has been made (ARCH=…: as it says).
NATIVE := $(shell dpkg --print-architecture 2>/dev/null)
CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nccl-env
LAB_ARCH := $(if $(findstring $(origin ARCH),command line environment),$(ARCH),$(NATIVE))
ARCH ?= $(NATIVE) $(if $(filter-out arm64,$(NATIVE)),$(and $(wildcard $(CACHE)/arm64/install-deps),arm64))
ARM64_TESTS = core base listing node
# What costs are is the machine's; /proc/self/stat is QEMU's own, all zeros.
ARM64_NOT = -*Multiplied*:ProcessMetrics.AreTheKernels
BUILDS = $(if $(filter $(NATIVE),$(ARCH)),build) $(if $(filter-out $(NATIVE),$(ARCH)),build-arm64)
build-arm64: ## the same for arm64, on another machine, as root: build/arm64/bin (first time: 5 minutes more)
	@scripts/install-deps --deb
	$(RELEASE) scripts/in-root arm64 sh -c 'cmake --preset arm64 && cmake --build --preset arm64 --target nccl-env nccl-env-webhook nccl-env-agent'

arm64-test: ## the tests of what depends on the architecture, for arm64, under QEMU, as root
	@scripts/install-deps --deb
	scripts/in-root arm64 sh -c 'cmake --preset arm64 && cmake --build --preset arm64 --target $(ARM64_TESTS:%=%_tests)'
	for layer in $(ARM64_TESTS); do \
	  scripts/in-root arm64 qemu-aarch64 build/arm64/bin/$${layer}_tests --gtest_brief=1 --gtest_filter='$(ARM64_NOT)' || exit; \
	  echo "arm64: $${layer}_tests passed"; done

# Those whose answers depend on a library's version.
DEBIAN_13_TESTS = core judge base cli
.PHONY: test-debian-13
test-debian-13: ## programs and the tests of core, judge, base and cli with Debian 13's compiler and libraries, as root (first time: 5 minutes more)
	@scripts/install-deps --deb
	scripts/in-root debian-13 sh -euc 'cmake --preset debian-13 >/dev/null; \
	  cmake --build --preset debian-13 --target nccl-env nccl-env-webhook nccl-env-agent $(DEBIAN_13_TESTS:%=%_tests); \
	  g++ --version | sed -n "1s/^/debian-13: compiled by /p"; \
	  for layer in $(DEBIAN_13_TESTS); do build/debian-13/bin/$${layer}_tests --gtest_brief=1; \
	    echo "debian-13: $${layer}_tests passed"; done'

demo: build ## run the webhook on this machine and show what it does to real pods (ALL=1: all of them)
	scripts/demo $(if $(ALL),--all)

test: deps ## build and run all tests
	scripts/run-tests release

.PHONY: histories
histories: deps ## random histories of nodes, and what their pods had by kind (HISTORIES=1000 of them)
	cmake --preset release && cmake --build --preset release --target histories
	build/release/bin/histories $(HISTORIES)

GOLDEN_TESTS = base_tests core_tests judge_tests net_tests kube_tests node_tests store_tests webhook_tests agent_tests cli_tests
goldens: deps ## write what commands and tests say now into tests/data/golden, and the pages' tables of metrics
	cmake --preset release && cmake --build --preset release --target $(GOLDEN_TESTS)
	rc=0; for tests in $(GOLDEN_TESTS); do \
	  NCCL_ENV_WRITE_GOLDENS=1 build/release/bin/$$tests --gtest_brief=1 || rc=1; done; exit $$rc

check-asan: deps ## all tests under AddressSanitizer and UBSan, with clang
	@scripts/install-deps --clang
	scripts/run-tests asan

check-tsan: deps ## the tests that have threads, under ThreadSanitizer
	scripts/run-tests tsan

lint: ## formatting, clang-tidy, shell, YAML, links, licences, alerts (LINT_ALL=1: all again)
	@scripts/install-deps --lint
	scripts/lint

.PHONY: docs-test
docs-test: build ## the commands in README.md and docs/, as far as one machine runs them (PAGES="docs/reference/agent.md": some)
	python3 -B tests/docs/run.py build/release/bin $(PAGES)

format: ## format all sources in place, new ones too
	@scripts/install-deps --lint
	git ls-files -co --exclude-standard '*.h' '*.cc' | xargs clang-format-14 -i

generate: deps ## write CRD, pages and dictionaries from the descriptions of our objects, then what `chart` writes
	cmake --preset release && cmake --build --preset release --target generate
	build/release/bin/generate
	$(MAKE) --no-print-directory chart

chart: ## write charts/nccl-env and docs/reference/policy-reference.md from manifests/
	scripts/helm-chart
	/usr/bin/python3 -B scripts/policy-reference

chart-test: deps ## the chart's objects beside kustomize's, by Helm (built with Go, once)
	scripts/helm-chart --check
	python3 -B tests/chart/check.py "$$(tests/chart/tools/build)"

fuzz: ## every fuzz target for FUZZ_SECONDS (20)
	@scripts/install-deps --clang
	scripts/fuzz $(FUZZ_SECONDS)

.PHONY: bench-test
bench-test: ## builds what bench runs, and runs each step for a moment
	@scripts/install-deps --bench
	cmake --preset release && cmake --build --preset release --target nccl-env-webhook decision_bench load_client
	python3 -B tests/bench/inputs.py build/bench/inputs
	build/release/bin/decision_bench --benchmark_min_time=0.001 build/bench/inputs
	python3 -B tests/bench/compare.py --quick --rounds 1 --requests 400 build/release

.PHONY: cost
cost: deps ## instructions and allocations of an answer beside tests/bench/cost.tsv (COST_WRITE=1 writes it)
	@scripts/install-deps --bench
	cmake --preset release && cmake --build --preset release --target answer_cost
	python3 -B tests/bench/cost.py build/release/bin/answer_cost build/bench
	$(if $(COST_WRITE),python3 -B tests/bench/figures.py --write)

.PHONY: figures
figures: build ## measures what README.md and docs/ state, and writes it there (ONLY="compare tables agent bench-api cluster": some)
	@scripts/install-deps --bench
	cmake --preset release && cmake --build --preset release --target load_client
	python3 -B tests/bench/figures.py $(ONLY)

bench: bench-test ## CPU per request beside nginx and a Go webhook, and of each step (2 minutes)
	build/release/bin/decision_bench --benchmark_min_time=0.3 build/bench/inputs
	python3 -B tests/bench/compare.py build/release
	python3 -B tests/bench/tables.py build/release/bin/nccl-env-webhook

bench-api: build ## what hooks and tables cost an API server (6 minutes; BENCH_API="--rounds 9": its options)
	@scripts/install-deps --e2e --bench
	python3 -B tests/bench/apiserver.py "$$(tests/e2e/controlplane/build)" build/release/bin $(BENCH_API)

soak: build ## SOAK_REQUESTS (100000) under reloads, a drain; then three attacks of SOAK_SECONDS (15)
	python3 -B tests/bench/soak.py --requests $(SOAK_REQUESTS) --seconds $(SOAK_SECONDS) build/release/bin/nccl-env-webhook

.PHONY: door
door: build ## strangers from 1, 5, 40 and 200 addresses beside an API server, in each way (6 minutes; DOOR="--ways half")
	python3 -B tests/bench/door.py build/release/bin/nccl-env-webhook $(DOOR)

release-check: FUZZ_SECONDS = 600
release-check: SOAK_REQUESTS = 1000000
release-check: ## the long forms of all checks, before a release (hours; FUZZ_SECONDS, SOAK_REQUESTS)
	@scripts/install-deps --all
	FUZZ_SECONDS=$(FUZZ_SECONDS) SOAK_REQUESTS=$(SOAK_REQUESTS) scripts/release-check

e2e: build ## scenarios on a real control plane, built once (SCENARIOS="1 5": some; E2E_LONG=1: long forms; CHAOS_SECONDS=600: longer faults)
	@scripts/install-deps --e2e
	NCCL_ENV_CHART_TOOLS="$$(tests/chart/tools/build)" \
	  python3 -B tests/e2e/run.py "$$(tests/e2e/controlplane/build)" build/release/bin $(SCENARIOS)

lab: $(if $(filter $(NATIVE),$(LAB_ARCH)),build,build-arm64) ## the node agent beside soft RDMA devices of a real kernel in QEMU (LAB_LONG=1: idle for 60 s; ARCH=arm64, as root)
	@scripts/install-deps --lab
	tests/lab/lab.py --architecture $(LAB_ARCH)

oracle: build ## NCCL and other readers of its variables, unmodified and without a GPU, beside what nccl-env says and gives
	@scripts/install-deps --oracle
	python3 -B tests/oracle/run.py build/release/bin
	python3 -B tests/readers/run.py build/release/bin

image: $(BUILDS) ## webhook, agent and command line as OCI archives in build/image, without a registry (REPOSITORY=registry.example; ARCH="amd64 arm64")
	@scripts/install-deps --image
	ARCH="$(ARCH)" scripts/image

.PHONY: push push-where
push-where:
	@[ -n "$(REPOSITORY)" ] || { echo "make push: where to? REPOSITORY=registry.example" >&2; exit 2; }

push: push-where image ## these images to REPOSITORY=registry.example, with the login of `skopeo login`
	REPOSITORY="$(REPOSITORY)" scripts/push build/image "$$(scripts/version)"

image-test: image ## unpacks the images and runs them, as root: what is in them, and what they answer
	python3 -B tests/images/check.py build/image "$$(tests/images/spdx-tools)"

.PHONY: cluster cluster-test
cluster: image ## a whole cluster of one node here, as root, without Docker, and a shell in it (COMMAND='nccl-env check')
	@scripts/install-deps --cluster
	@tests/cluster/run $(if $(value COMMAND),"$$CLUSTER_COMMAND")

cluster-test: image ## scenarios on that cluster: what processes of pods have (SCENARIOS="carriers nccl": some; SCENARIOS=figures CLUSTER_PODS=50: the page's figures)
	@scripts/install-deps --cluster --oracle
	$(if $(SCENARIOS),tests/cluster/run "python3 -B tests/cluster/check.py $(SCENARIOS)",tests/cluster/all)

deb: $(BUILDS) ## the command line as Debian packages, build/deb/nccl-env_*.deb (ARCH="amd64 arm64")
	@scripts/install-deps --deb
	rm -rf build/deb
	for architecture in $(ARCH); do $(RELEASE) scripts/package $$architecture || exit; done

deb-test: deb ## installs each package on a clean Debian 12 root, as root, and uses it there
	for package in build/deb/nccl-env_*.deb; do tests/clean/deb $$package || exit; done

.PHONY: portable portable-test
portable: deps ## the command line as one file for any Linux, build/portable/nccl-env-*-linux-* (ARCH="amd64 arm64")
	@scripts/install-deps --deb
	rm -rf build/portable
	for architecture in $(ARCH); do $(RELEASE) scripts/portable $$architecture || exit; done

portable-test: portable ## each in a root with nothing else, as root: commands, and a cluster over TLS
	python3 -B tests/release/portable.py $$(ls build/portable/* | grep -v '\.copyright$$')

.PHONY: release release-test
release: image deb portable ## of the tag vVERSION images, chart, packages, files and checksums in build/dist (VERSION=0.1.0 REPOSITORY=… PUSH=yes)
	REPOSITORY="$(REPOSITORY)" PUSH="$(PUSH)" scripts/release "$(VERSION)"

release-test: image deb portable ## scripts/release in a clone, against a registry on loopback
	python3 -B tests/release/check.py

report-test: build ## the page of `nccl-env report` in headless Chromium (1 minute); screenshots in build/report
	@scripts/install-deps --report
	/usr/bin/python3 -B tests/report/check.py build/release/bin/nccl-env build/report

clean: ## remove build/
	rm -rf build
