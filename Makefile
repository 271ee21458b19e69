# zktorture. Bare `make` lists the targets. Needed: Go 1.26; for real servers also Java 11, which `make needs` installs
# on Debian when it may.

.DEFAULT_GOAL := help
.PHONY: help build needs test short lint race exact live zoo fuzz bench release

GO      ?= go
SEED    ?= 1
FUZZTIME ?= 10m
VERSION ?= Unreleased

# The packages of both modules, which go.work joins.
ALL := ./... ./cmd/...
# A simulated world runs one goroutine at a time, so a package has one processor; tests of real servers wait much of the
# time, so there are more packages than processors at a time. GOGC: garbage is collected less often.
PACKAGES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
TEST     := GOMAXPROCS=1 GOGC=400 $(GO)
V        ?=
# How many seeds exact mode is tried with over the wire.
SEEDS    ?= 10

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-9s %s\n", $$1, $$2}'

build: ## the command: ./torture
	$(GO) build -o torture ./cmd/torture

test: needs ## all tests, also on real servers, but for those of exact mode
	ZKTORTURE_SERVERS=1 $(TEST) test $(V) -vet=off -timeout 30m -p $(PACKAGES) -parallel 4 $(ALL)

short: ## the quick tests
	$(TEST) test -vet=off -short $(ALL)

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0

lint: ## gofmt, go vet and staticcheck
	@files="$$(gofmt -l .)" || exit; if [ -n "$$files" ]; then echo "gofmt -w is needed for: $$files"; exit 1; fi
	$(GO) vet $(ALL)
	$(GO) run $(STATICCHECK) $(ALL)

# Packages in which things happen at the same time, and those tests of the simulator in which several worlds run.
RACE := ./live/... ./fakezk/... ./recipes/...

race: ## the quick tests of concurrent packages with the race detector (needs a C compiler, or says that it is skipped)
	@cc="$$($(GO) env CC)" || exit; if command -v "$$cc" >/dev/null; then set -ex; $(GO) test -vet=off -race -short -timeout 60m $(RACE); \
	$(GO) test -vet=off -race -short -timeout 60m -run 'AtOnce|ResultDoesNotDependOnWorkers|LossesOverWire' ./sim; \
	else echo "race: skipped, because go test -race needs a C compiler and $$cc is not here"; fi

exact: ## exact mode: its tests, and programs built in it
	ZKTORTURE_EXACT=$(SEEDS) $(GO) run ./cmd/torture test -count=1 -timeout 60m -run 'Exact|Recorded' ./sim ./sim/world ./workload/service ./zoo
	ZKTORTURE_EXACT=$(SEEDS) $(GO) test -count=1 -vet=off -timeout 60m -run 'Exact|Edits|TortureTest' ./cmd/command ./cmd/internal/cli/exact ./cmd/internal/scan

CLIENTS := libcurator-recipes-java libcommons-cli-java zookeeper-bin default-jdk-headless \
	python3-kazoo python3-pytest python3-venv junit5

# What cannot be installed is said, and its tests are skipped.
needs: ## what tests of real servers need: fetches ZooKeeper; as root on Debian installs Java and clients in other languages
	@if ! dpkg -s $(CLIENTS) >/dev/null 2>&1 && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	apt-get update -q && apt-get install -y -q --no-install-recommends $(CLIENTS) || echo "needs: skipped: some of $(CLIENTS) could not be installed"; fi
	$(GO) run ./cmd/torture live lock --start 1 --episodes 1 --faults none

live: needs ## the tests of real servers and of clients in other languages alone
	ZKTORTURE_SERVERS=1 $(TEST) test -vet=off $(V) -count=1 -timeout 30m -p $(PACKAGES) ./live/... ./fakezk/conformance/... ./workload/service
	ZKTORTURE_SERVERS=1 $(TEST) test -vet=off $(V) -count=1 -timeout 30m -run Confirm ./zoo
	ZKTORTURE_SERVERS=1 $(TEST) test -vet=off $(V) -count=1 -timeout 30m -run 'Live|Killed|Script|Confirm|Pytest|JUnit' ./cmd/command ./cmd/internal/e2e ./cmd/internal/zoocmd

zoo: ## hunt every known bug of the zoo from SEED; fails if one is not found
	$(GO) run ./cmd/torture zoo --seed $(SEED)

fuzz: ## look for bytes that the protocol's reader, the servers or the proxy cannot bear, FUZZTIME (10m) each
	@set -e; for package in ./fakezk/wire ./fakezk/server ./live/ensemble/proxy; do \
	targets="$$($(GO) test -list '^Fuzz' $$package)"; for target in $$targets; do case $$target in Fuzz*) ;; *) break;; esac; \
	echo "$$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$package; done; done

bench: ## the benchmarks, on one core
	$(GO) test -run '^$$' -bench . -benchmem -cpu 1 ./...

release: ## build all that a release has into out/dist; with GORELEASER='release --clean' publish it
	@mkdir -p out; awk -v version="[$(VERSION:v%=%)]" '/^## /{on = $$2 == version; next} /^\[.*\]: /{on = 0} on' CHANGELOG.md > out/release-notes.md; \
	test -s out/release-notes.md || { echo "release: CHANGELOG.md has no section ## [$(VERSION:v%=%)]: write it"; exit 2; }
	$(GO) run github.com/goreleaser/goreleaser/v2@v2.13.3 $(or $(GORELEASER),release --snapshot --clean) --release-notes out/release-notes.md
