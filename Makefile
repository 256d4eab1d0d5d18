# Tasks for people; `cargo test` needs none of them.

CARGO ?= cargo
CLUSTER = $(CARGO) run --quiet --package cluster --bin rollwright-cluster --
NAME ?= demo

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

# It is a Python program, which asks for the rest by itself.
RUN = tests/needs python && tests/run

# UNTIL=alerts ends after that step.
.PHONY: test
test: ## Run all tests: format, lints, unit, golden, oracle, and end-to-end on a real API server
	@$(RUN) $(if $(UNTIL),--until $(UNTIL))

.PHONY: bare
bare: ## Run the demo and all tests on a machine that has nothing but what CONTRIBUTING.md lists, in half an hour
	@tests/bare

.PHONY: check
check: ## Run what needs no control plane: format, prose, lints, unit tests, golden files, and the oracle
	@$(RUN) check

# The gate draws the same 1,000 each time.
.PHONY: properties
properties: ## Draw 20,000 new cases for each property of the planner, in some minutes
	@PROPTEST_CASES=20000 $(CARGO) test --quiet --package plan --test all properties

.PHONY: oracle
oracle: ## Compare our decisions with 4,000 recorded ones of Kubernetes' own controller
	@$(RUN) oracle

# Half of the runs are beside a compiler; the result is written to docs/internals/soak.md.
.PHONY: e2e-soak
e2e-soak: N = 10
e2e-soak: ## Run the end-to-end scenarios N times, and find those that fail now and then
	@tests/soak $(N)
# Another build of the whole operator, so it is not in `make test` but in the weekly workflow.
.PHONY: older-library
older-library: ## Run an operator that was built against the oldest supported Kubernetes library
	@$(RUN) older-library

# Each builds a control plane once, besides the one of `make test`.
.PHONY: older-kubernetes
older-kubernetes: older-kubernetes-1.33 older-kubernetes-1.35 ## Run the tests that a real server answers on Kubernetes 1.33 and 1.35

# Not in parallel: both take the machine.
.NOTPARALLEL: older-kubernetes
older-kubernetes-%:
	@KUBERNETES=$* $(RUN) older-kubernetes

# Another build too, of a commit in the history, so a shallow clone does not do.
.PHONY: upgrade-test
upgrade-test: ## Change from the release before to this one and back, in the middle of rollouts
	@$(RUN) upgrade

# Flags of the test program go into FAULTS, for example FAULTS=watches::cut.
.PHONY: fault-proxy
fault-proxy: ## Run the operator through faults on a real API server; takes some minutes
	@$(CARGO) test --package rollwright --test faults -- $(FAULTS)

SIM = $(CARGO) run --quiet --release --package sim --

# SEED=17 plays one seed and prints its last events.
.PHONY: sim
sim: ## Play 200,000 rollouts in a cluster in memory, with faults, and check every write
	@$(SIM) $(if $(SEED),--seed $(SEED),)

N ?= 1000000
.PHONY: sim-long
sim-long: ## The same with N rollouts
	@$(SIM) --rollouts $(N)

.PHONY: sim-determinism
sim-determinism: ## Play 1,000 seeds twice and compare
	@$(SIM) --determinism 1000

.PHONY: mutants-check
mutants-check: ## Put bugs of the past back in; the simulator has to find each (ONLY=name for one)
	@CARGO="$(CARGO)" dev/mutants/check $(if $(ONLY),--only $(ONLY)) $(MUTANTS_FLAGS)

.PHONY: what-finds-what
what-finds-what: ## Run each test program with each bug of the past (hours; FINDS='--program plan' for one)
	@CARGO="$(CARGO)" dev/mutants/finds $(FINDS)

# All of them take hours; SHARD=0/10 tries every tenth. Needs cargo-mutants; docs/internals/mutants.md has the
# last result.
.PHONY: mutants
mutants: ## Change the planner in a thousand ways; its tests and the recorded decisions must notice
	@$(CARGO) mutants --package plan $(if $(SHARD),--shard $(SHARD) --sharding round-robin) --output target

.PHONY: sim-crashes
sim-crashes: ## Let the operator die around every write of a few scenarios
	@$(SIM) --crash-matrix

.PHONY: sim-tenant
sim-tenant: ## Play 10,000 seeds with a hostile tenant in another namespace and without it, and compare
	@$(SIM) --tenant 10000

OPERATOR = "$${CARGO_TARGET_DIR:-target}/release/rollwright"
BENCH = $(CARGO) build --quiet --release --package rollwright --bin rollwright && \
  $(CARGO) run --quiet --release --package bench -- --operator $(OPERATOR) \
  $(if $(PEER),--peer "$$(dev/bench/$(PEER))")

# Flags go into BENCH_FLAGS, for example BENCH_FLAGS='--only 500x2-8s'. PEER=argo-rollouts plays Argo Rollouts, too.
.PHONY: bench
bench: ## Measure the operator beside Kubernetes' own deployment controller, in an hour
	@$(BENCH) $(BENCH_FLAGS)

.PHONY: bench-quick
bench-quick: ## The same in small, in five minutes
	@$(BENCH) --amount quick $(BENCH_FLAGS)

.PHONY: bench-full
bench-full: ## All that docs/internals/benchmarks.md shows, in some hours; the figures go beside it by date
	@$(BENCH) --amount full --csv docs/internals/benchmarks $(BENCH_FLAGS)

# SCENARIO=500x2-8s draws another one. Needs perf, kubectl, Go, and inferno.
.PHONY: bench-flames
bench-flames: ## Draw where the API server and the operator spend their time into docs/internals/flames
	@dev/bench/flames $(SCENARIO)

# Flags of criterion go into BENCH_FLAGS, for example BENCH_FLAGS="'at rest'".
# UPDATE=1 writes docs/internals/benchmarks.json. Needs valgrind.
.PHONY: bench-check
bench-check: ## Compare what no machine's speed changes (writes, requests, bytes, instructions) with what it was
	@tests/needs rust cc valgrind
	@$(CARGO) run --quiet --release --package figures -- --instructions
	@$(CARGO) test --quiet --package rollwright --test whole figures -- --nocapture

.PHONY: bench-plan
bench-plan: ## Measure how many plans one core makes a second, with 2, 3, 10 and 100 ReplicaSets
	@$(CARGO) bench --quiet --package figures --bench plan -- $(BENCH_FLAGS)

.PHONY: conformance
conformance: ## Ask the sandbox's API server and a real one the same, and compare their answers
	@$(CARGO) test --quiet --package rollwright --test conformance

.PHONY: chart-test
chart-test: ## Render the Helm chart, install it with helm on a real control plane, and hold it to its rights
	@$(CARGO) test --quiet --package rollwright --test chart

MUSL = x86_64-unknown-linux-musl
.PHONY: static
static: ## Build the program that the image holds, static; needs the target of rustup and musl-tools
	@$(CARGO) build --release --locked --package rollwright --bin rollwright --target $(MUSL)
	@ls -l "$${CARGO_TARGET_DIR:-target}/$(MUSL)/release/rollwright"

.PHONY: chart-test-static
chart-test-static: static ## Install the chart with that program, and start a sandbox, each in an empty root directory
	@CHART_BINARY="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/$(MUSL)/release/rollwright" \
	  $(CARGO) test --quiet --package rollwright --test chart --test sandbox -- life alone

# Without kubectl, the examples are there from the start. REAL=1 starts a real control plane, with pods as in the
# sandbox and the operator as a process beside it.
BUILT = $${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug
.PHONY: sandbox
sandbox: ## Start a cluster in memory with Rollwright in it, to try it with kubectl or without
ifdef REAL
	@tests/needs rust cc go
	@$(CARGO) build --package rollwright --package cluster --bins
	@echo "  export PATH=$(BUILT):\$$PATH"
	@$(CLUSTER) run --name sandbox --ready-after-ms 800 --terminate-after-ms 200 \
	  --apply crds/deployments.rollwright.dev.yaml -- "$(BUILT)/rollwright" run --bind-address=0
else
	@tests/needs rust cc
	@$(CARGO) build --profile quick --package rollwright --bins
	@$(CARGO) run --quiet --profile quick --package rollwright -- sandbox \
	  $(if $(shell command -v kubectl 2>/dev/null),,--apply examples)
endif

# Every target for TIME seconds; what is found lands in target/fuzz. Needs a C++ compiler.
TIME ?= 60
.PHONY: fuzz
fuzz: ## Feed every parser with what libFuzzer finds, for TIME seconds each
	@dev/fuzz/run $(TIME) $(TARGETS)

.PHONY: crd
crd: ## Write the CRD and docs/reference/api.md from the code, and the copies of chart and kustomize
	@UPDATE=1 $(CARGO) test --quiet --package rollwright-api
	@# The chart's copy first: deploy/base/crd.yaml is what the chart renders.
	@for test in the_definition_is_ours renders; do \
	  UPDATE=1 $(CARGO) test --quiet --package rollwright --test chart $$test || exit; done

# RECORD=1 first records them anew, in sandboxes, with kubectl; it takes a minute.
.PHONY: pictures
pictures: ## Draw docs/pictures from the recorded data
	@tests/needs python $(if $(RECORD),rust cc)
	@$(if $(RECORD),$(CARGO) build --quiet --package rollwright --bins)
	@$(if $(RECORD),dev/pictures/record "$${CARGO_TARGET_DIR:-target}/debug")
	@dev/pictures/draw

# mdBook is built once, in a minute or two; after that no network is needed.
MDBOOK = target/tools/bin/mdbook
MDBOOK_VERSION = 0.5.4
.PHONY: site
site: ## Make the documentation's site in target/site, with search, and check its links
	@tests/needs rust cc python
	@$(MDBOOK) --version 2>/dev/null | grep -q 'v$(MDBOOK_VERSION)$$' || $(CARGO) install --quiet --locked --root target/tools \
	  --target-dir target/tools/build --no-default-features --features search --version $(MDBOOK_VERSION) mdbook
	@dev/site/build target/site-source target/site $(MDBOOK)

# An hour's worth of a busy cluster in minutes; docs/how-to/shadow.md has the last result.
.PHONY: shadow-churn
shadow-churn: ## Compare our decisions with those of kube-controller-manager, 3,000 writes long
	@SHADOW_CHURN=hour E2E_DEADLINE=1200 $(CARGO) test --package rollwright --test e2e shadow_churn::apps

# Usage: eval "$(make cluster)". Flags of the program go into CLUSTER_FLAGS.
.PHONY: cluster
cluster: ## Start a local control plane; prints the line that points kubectl at it
	@$(CLUSTER) up --name $(NAME) $(CLUSTER_FLAGS)

.PHONY: cluster-down
cluster-down: ## Stop the local control plane
	@$(CLUSTER) down --name $(NAME)

.PHONY: demo
demo: ## Watch a rollout, a pause, a bad image and a rollback, in a cluster in memory
	@tests/needs rust cc
	@$(CARGO) build --profile quick --package rollwright --bins
	@dev/demo "$${CARGO_TARGET_DIR:-target}/quick"
