# Tasks for people; `cargo test` needs none of them.

CARGO ?= cargo
CLUSTER = $(CARGO) run --quiet --package cluster --bin rollwright-cluster --
NAME ?= demo

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

.PHONY: test
test: ## Run all tests: format, lints, unit, golden, oracle, and end-to-end on a real API server
	@tests/run

.PHONY: oracle
oracle: ## Compare our decisions with 4,000 recorded ones of Kubernetes' own controller
	@tests/run oracle

# Flags of the test program go into FAULTS, for example FAULTS=watches::cut.
.PHONY: fault-proxy
fault-proxy: ## Run the operator through faults on a real API server; takes half an hour
	@$(CARGO) test --package rollwright --test faults -- $(FAULTS)

.PHONY: crd
crd: ## Write the CRD from the code
	@UPDATE=1 $(CARGO) test --quiet --package api

# Usage: eval "$(make cluster)". Flags of the program go into CLUSTER_FLAGS.
.PHONY: cluster
cluster: ## Start a local control plane; prints the line that points kubectl at it
	@$(CLUSTER) up --name $(NAME) $(CLUSTER_FLAGS)

.PHONY: cluster-down
cluster-down: ## Stop the local control plane
	@$(CLUSTER) down --name $(NAME)

# KEEP=1 leaves cluster and operator running, to go on by hand.
.PHONY: demo
demo: ## Watch a rollout, a pause, a bad image and a rollback on a real API server
	@$(CARGO) build --package rollwright --package demo
	@$(CARGO) run --quiet --package demo -- play $(if $(KEEP),--keep)

.PHONY: demo-down
demo-down: ## Stop what KEEP=1 make demo left running
	@$(CARGO) run --quiet --package demo -- down
