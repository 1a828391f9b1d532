# `make help` lists the targets. CI runs the same ones.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.cache/bin:$(PATH)

PKG ?= ./...
DATA ?=
BENCH ?= chem
FOR ?= 10m
ARGS ?=

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## Run a whole search on this machine: database, coordinator, two workers (DATA=file for your own molecules)
	@hack/bootstrap postgres rdkit-data
	@hack/demo $(DATA)

.PHONY: test
test: ## Install what is missing, then run every check and every test
	@hack/check all

.PHONY: verify
verify: ## Checks without tests: format, vet, lint, go.mod, generated code
	@hack/check verify

.PHONY: lint
lint: ## golangci-lint and shell syntax alone
	@hack/check lint

.PHONY: bootstrap
bootstrap: ## Install what building and testing need, as far as this machine lacks it
	@hack/bootstrap

.PHONY: build
build: ## Build bin/scimesh
	@hack/bootstrap web || true # without it the dashboard shows SMILES in place of structures
	@go build -trimpath -o bin/ ./cmd/...

.PHONY: generate
generate: ## Regenerate all generated code
	@hack/bootstrap tools
	@go generate ./...

.PHONY: oracle
oracle: ## Compare chemistry and search with RDKit, and test the reference program itself
	@hack/bootstrap python rdkit-data
	@CI=true ORACLE_WHOLE=1 go test -count=1 -timeout 60m ./hack/oracle/... ./workloads/similaritysearch ./workloads/similaritygraph -run 'Debian|Generated|Shared|Reference'
	@.cache/venv/bin/python -m pytest -q hack/oracle

.PHONY: bench
bench: ## Run a benchmark of hack/bench (BENCH=chem, search or queue; ARGS=flags of its own)
	@hack/bootstrap postgres python rdkit-data
	@go run ./hack/bench/$(BENCH) $(ARGS)

.PHONY: chaos
chaos: build ## Kill workers, coordinator and PostgreSQL at random while a job of 300 tasks runs, again and again (FOR=10m)
	@hack/bootstrap postgres rdkit-data
	@mkdir -p .demo/chaos
	@hack/demo-data .demo/chaos/molecules.tsv
	@sed 's/rows: 2000 /rows: 50 /' manifests/jobs/similarity-search.yaml >.demo/chaos/job.yaml
	@go run ./hack/chaos -manifest .demo/chaos/job.yaml -job aspirin-neighbours -for $(FOR) $(ARGS)

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what the binary calls (asks vuln.go.dev)
	@hack/bootstrap tools
	@govulncheck ./...

.PHONY: bench-queue
bench-queue: ## Measure the task queue beside raw SQL and River (ARGS="-workers 32 -ended 0" for less)
	@hack/bootstrap postgres
	@go run ./hack/bench/queue $(ARGS)

.PHONY: bench-system
bench-system: ## Measure searches and graphs by two workers beside one process and RDKit (ARGS="-input molecules.tsv.gz")
	@mkdir -p .cache
	@go run ./hack/bench/system $(ARGS)

.PHONY: bench-memory
bench-memory: ## Measure the memory of a coordinator that plans 1 GB, and of workers
	@hack/bootstrap postgres
	@go run ./hack/bench/memory $(ARGS)

.PHONY: clean
clean: ## Remove what was built, not what was installed into .cache
	@rm -rf bin dist .demo coverage.out
