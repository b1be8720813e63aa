# Everything works as root and as an ordinary user, from a clean clone, repeatedly.

SHELL := /bin/bash
export PATH := $(PATH):/usr/local/go/bin

GO        ?= go
PKG       ?= ./...
TESTFLAGS ?=
FUZZTIME  ?= 30s
BENCHFLAGS ?=
# PG=18 tests and measures with npm's PostgreSQL of that major version.
PG        ?=
ON_PG      = $(if $(PG),IRONHOLD_PG_BIN="$$(scripts/get-postgres --folder)" )

.DEFAULT_GOAL := help
.PHONY: help run build test test-node screenshots race bench bench-quick prove compat fuzz rehearse rehearse-ha pg generate verify fmt lint FORCE

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build pg ## Build, start with sample data, print the address and the sign-ins
	@exec bin/ironhold serve --demo

build: bin/ironhold ## Build bin/ironhold

bin/ironhold: FORCE
	@$(GO) build -o $@ ./cmd/ironhold

bin/pgserve: FORCE
	@$(GO) build -o $@ ./migrations/pgtest/pgserve

test: pg verify ## Run all tests on one PostgreSQL server (PKG and TESTFLAGS narrow it)
	@$(ON_PG)bin/pgserve -- $(GO) test -count=1 -timeout 15m $(TESTFLAGS) $(PKG)

test-node: pg ## Let a receiver in Node verify delivered webhooks with a public library (needs npm)
	@cd notify/testdata/receiver && npm ci --silent
	@bin/pgserve -- $(GO) test -count=1 -tags node -run TestNodeVerifies ./notify

screenshots: pg ## Draw every page and state, phone and desk, light and dark, into screenshots/
	@bin/pgserve -- $(GO) test -count=1 -timeout 15m -run 'TestScreenshots' ./web/browsertest -screenshots "$(CURDIR)/screenshots"

race: pg ## Run the tests with the race detector (needs a C compiler)
	@bin/pgserve -- $(GO) test -race -count=1 -timeout 30m $(TESTFLAGS) $(PKG)

bench-quick: pg ## Guard the ratios of claims and refusals to the cheapest that is possible (under two minutes)
	@$(ON_PG)$(GO) run ./cmd/ironhold-bench -machines 4000 -rounds 4 -round 1s -at-least 0.5 $(BENCHFLAGS)

bench: pg ## Measure everything that docs/performance.md tells of, fleets up to a million machines (long)
	@$(ON_PG)$(GO) run ./cmd/ironhold-bench -what all -limit 10m -rounds 7 -clients 1,8,32,64 -sizes 1000,10000,100000,1000000 \
		-markdown bench.md $(BENCHFLAGS)

prove: pg ## Attack two running processes with people and faults and judge every answer (long)
	@$(GO) run ./cmd/ironhold-prove $(PROVEFLAGS)

compat: pg ## Run the version before beside this one on one migrated database
	@bin/pgserve -- $(GO) test -count=1 -run TestOneVersionBack ./cmd/ironhold

fuzz: pg ## Try every parser with input that it has never seen, FUZZTIME each
	@bin/pgserve -- scripts/fuzz $(FUZZTIME)

rehearse: build ## Rehearse backup, loss and restore on a server of its own (needs PostgreSQL and pgbackrest)
	@ops/backup/rehearse

rehearse-ha: build ## Rehearse the loss of the primary under load (needs PostgreSQL, patroni and etcd)
	@$(GO) build -o bin/ironhold-load ./cmd/ironhold-load
	@ops/ha/rehearse

pg: bin/pgserve ## Get PostgreSQL if the machine has none that is usable
	@scripts/get-postgres bin/pgserve $(PG)

generate: ## Generate Go from the templ files
	@$(GO) tool templ generate

verify: ## Check that generated code, formatting and go vet are clean
	@sums() { find . -name '*_templ.go' -not -path './.*' -exec cksum {} + | sort; }; \
	before=$$(sums); out=$$($(GO) tool templ generate 2>&1) || { echo "$$out" >&2; exit 1; }; \
	if [ "$$before" != "$$(sums)" ]; then \
		diff <(echo "$$before") <(sums); echo "generated code was not up to date: commit the result of make generate" >&2; exit 1; fi
	@bad=$$(find . -name '*.go' -not -name '*_templ.go' -not -path './.*' -print0 | xargs -0 gofmt -l); \
	if [ -n "$$bad" ]; then echo "not formatted, run make fmt:" >&2; echo "$$bad" >&2; exit 1; fi
	@$(GO) vet ./...

fmt: ## Format Go and templ files
	@find . -name '*.go' -not -name '*_templ.go' -not -path './.*' -print0 | xargs -0 gofmt -w
	@$(GO) tool templ fmt .

lint: ## Run golangci-lint, if it is installed
	@command -v golangci-lint >/dev/null || { echo "golangci-lint is not installed" >&2; exit 1; }
	@golangci-lint run ./...
