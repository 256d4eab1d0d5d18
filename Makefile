# Tasks for people; `cargo test` needs none of them.

CARGO ?= cargo
CLUSTER = $(CARGO) run --quiet --package cluster --bin rollwright-cluster --
NAME ?= demo

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

# Usage: eval "$(make cluster)". Flags of the program go into CLUSTER_FLAGS.
.PHONY: cluster
cluster: ## Start a local control plane; prints the line that points kubectl at it
	@$(CLUSTER) up --name $(NAME) $(CLUSTER_FLAGS)

.PHONY: cluster-down
cluster-down: ## Stop the local control plane
	@$(CLUSTER) down --name $(NAME)
