# zktorture. Bare `make` lists the targets. Needed: Go 1.26; for real servers also Java 11, which
# `make zookeeper` installs on Debian when it may.

.DEFAULT_GOAL := help
.PHONY: help run test ci short lint race zookeeper browser clients foreign agree wire soak stories checks determinism million search exact mutants suites fuzz bench kills results results-foreign results-foreigngo results-served docs clean zoo

GO   ?= go
SEED ?= 1
SEEDS ?= 100000
ZOO_SEEDS ?= 2000
N    ?= 1000000
FUZZTIME ?= 10m
BUGS := W1 W2 W3 W5 W7 W8 DQ1 DQ2 DQ5 DQ6 DQ7

help: ## list the targets
	@grep -hE '^[a-zA-Z%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'
	@echo "  bug-ID         hunt one published bug, succeed when it is found; ID is one of"
	@echo "                 $(BUGS)"

run: ## torture the lock in simulation (the main job; needs Go alone)
	$(GO) run ./cmd/torture run lock

# Simulated worlds run one goroutine at a time: with two processors a package takes up to twice the processor time. So each
# gets one; tests that want more ask for them. One package more is tested at a time than there are processors, and four
# tests of each, because real servers make them wait; those first that take longest. GOGC: garbage is collected
# less often. The time limits are for tests that hang: on a busy machine everything takes longer. What go vet says, lint says.
PACKAGES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
LONG     := ./torturecli ./internal/suites ./workload ./sim ./ensemble ./story ./fakezk/conformance

test: zookeeper browser clients lint ## everything that must pass: linters, all tests, the core with -race
	GOMAXPROCS=1 GOGC=400 $(GO) test -vet=off -timeout 60m -p $(PACKAGES) -parallel 4 $(LONG) ./...
	GOMAXPROCS=1 $(GO) -C zoo/foreign test -vet=off ./...
	@$(MAKE) --no-print-directory race
	@$(MAKE) --no-print-directory exact

ci: ## what .ci/run does: make test, then the closing lines of go test
	./.ci/run

short: ## the quick tests only, without real servers
	$(GO) test -short ./...

lint: ## gofmt, go vet and staticcheck
	@files="$$(gofmt -l .)"; if [ -n "$$files" ]; then echo "gofmt -w is needed for: $$files"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	$(GO) -C zoo/foreign vet ./...
	$(GO) -C zoo/foreign tool -modfile=../../tools/go.mod staticcheck ./...

# Packages in which things happen at the same time; the others have no goroutines, or only start what is in these.
RACE ?= ./sim ./workload $$($(GO) list ./... | grep -v -e /cmd/ -e /torturecli -e /examples/ -e /internal/ -e /linearizability$$ -e /results/ -e /story -e /wire$$)

race: ## the quick tests of concurrent packages with the race detector; all: RACE=./... (needs a C compiler, or says that it is skipped)
	@if command -v "$$($(GO) env CC)" >/dev/null; then set -x; $(GO) test -vet=off -race -short -timeout 60m -p $(PACKAGES) $(RACE); \
	else echo "race: skipped, because go test -race needs a C compiler and $$($(GO) env CC) is not here"; fi

zookeeper: ## make sure that real servers can be started: fetch ZooKeeper, install Java if root on Debian
	@if [ -z "$$JAVA_HOME" ] && ! command -v java >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -q; fi
	$(GO) run ./ensemble/cmd/zkfetch -install-jre

browser: ## make sure that pages can be tested: install Chromium if root on Debian (else those tests are skipped)
	@for b in chromium chromium-browser google-chrome "$$CHROMIUM"; do command -v "$$b" >/dev/null 2>&1 && exit 0; done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	apt-get update -q && apt-get install -y -q --no-install-recommends chromium || echo "browser: Chromium could not be installed; its tests are skipped"; \
	else echo "browser: no Chromium here, so the tests of pages are skipped"; fi

CLIENTS := libcurator-recipes-java libcommons-cli-java zookeeper-bin default-jdk-headless \
	python3-kazoo python3-pytest python3-mock python3-objgraph python3-gevent python3-eventlet

clients: ## make sure that the client programs of internal/suites can be run: install them if root on Debian (else those tests are skipped)
	@if dpkg -s $(CLIENTS) >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	apt-get update -q && apt-get install -y -q --no-install-recommends $(CLIENTS) || echo "clients: $(CLIENTS) could not all be installed; tests of what is missing are skipped"; \
	else echo "clients: $(CLIENTS) are not all here, and only root on Debian can install them; tests of what is missing are skipped"; fi

FOREIGN := python3-kazoo libcurator-recipes-java libjackson2-databind-java default-jdk-headless

foreign: ## make sure that kazoo's and Curator's recipes can be run: install them if root on Debian
	@if dpkg -s $(FOREIGN) >/dev/null 2>&1; then echo "foreign: kazoo and Curator are here"; \
	elif ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
	echo "foreign: $(FOREIGN) are not all here, and only root on Debian can install them"; exit 2; \
	else apt-get update -q && apt-get install -y -q --no-install-recommends $(FOREIGN); fi

agree: ## compare the judge with exhaustive search on N small histories of each model (default 1000000), and with porcupine on N of all
	ZKTORTURE_AGREE=$(N) $(GO) test -count=1 -timeout 240m -run TheJudgeAgrees -v ./internal/exhaustive
	ZKTORTURE_AGREE=$(N) $(GO) test -count=1 -timeout 120m -run 'TestAgree|TestNever' -v ./linearizability

wire: zookeeper ## send the fake and a real server the same N requests (default 1000000) of SEED, and compare the answers: results/wire.md
	ZKTORTURE_WIRE=$(N) ZKTORTURE_WIRE_SEED=$(SEED) $(GO) run ./results/generate wire

determinism: ## run SEEDS seeds (default 100000) of all kinds, and ZOO_SEEDS (default 2000) of each recipe of the zoo, three times and compare them one by one
	ZKTORTURE_SEEDS=$(SEEDS) ZKTORTURE_ZOO_SEEDS=$(ZOO_SEEDS) $(GO) test -count=1 -timeout 120m -run Determinism -v ./sim

EXACT ?= 40

exact: ## exact mode: its tests, and EXACT seeds (default 40) of go-zookeeper's lock and others compared between processes, also with -race
	ZKTORTURE_EXACT=$(EXACT) $(GO) run ./cmd/torture test -count=1 -timeout 120m -run 'Exact|Recorded|Edits' -v ./internal/exact ./sim ./zoo
	@if command -v "$$($(GO) env CC)" >/dev/null; then \
	ZKTORTURE_EXACT=$$(($(EXACT) < 500 ? $(EXACT) : 500)) $(GO) run ./cmd/torture test -race -vet=off -count=1 -timeout 120m -run 'ExactAcrossProcesses' -v ./sim; \
	else echo "exact: without -race, which needs a C compiler"; fi

zoo: ## hunt every animal of the zoo: recipes known to be broken; fails if one is not found
	$(GO) run ./cmd/torture zoo --seed $(SEED)

zoo-%: ## hunt one animal, such as zoo-DQ6; succeeds when the bug is found and its twin is clean
	$(GO) run ./cmd/torture zoo $* --seed $(SEED)

search: ## hunt the zoo by the strategy mix, and hard animals by random, with ten fresh seeds: results/search.md (goes on where it was; minutes)
	$(GO) run ./results/generate search

million: ## a million episodes of every recipe, or of KIND=lock: results/million.md (minutes each)
	$(GO) run ./results/generate million $(KIND)

suites: zookeeper clients ## torture's servers beside real ones: Curator, zkCli, the C client, go-zookeeper's and kazoo's own tests (five minutes)
	@dpkg -s $(CLIENTS) >/dev/null 2>&1 || { echo "suites: not all of $(CLIENTS) are here"; exit 2; }
	ZKTORTURE_SUITES=all $(GO) test -count=1 -timeout 60m -parallel 2 -v ./internal/suites

soak: ## torture four of our recipes on three real servers, ten minutes each: results/soak.md
	$(GO) run ./results/generate soak

results-foreign: foreign zookeeper ## torture kazoo's and Curator's recipes: results/foreign.md (half an hour)
	$(GO) run ./results/generate foreign

results-served: foreign zookeeper ## torture the same on torture serve, and confirm what is found: results/served.md (half an hour)
	$(GO) run ./results/generate served

results-foreigngo: zookeeper ## torture the recipes of other Go projects, in simulation and on real servers: results/foreigngo.md (half an hour)
	$(GO) run ./results/generate foreigngo

kills: ## kill a run on real servers fifty times, and see that nothing is left: results/kills.md (minutes)
	$(GO) run ./results/generate kills

stories: ## tell the story of every animal of the zoo and check it, text and page (minutes)
	ZKTORTURE_STORIES=all $(GO) test -count=1 -timeout 60m -run EveryAnimal -v ./story

checks: ## sim.Check on 42 broken recipes with 20 seeds each: every test ends with a story (a quarter of an hour)
	ZKTORTURE_CHECKS=all $(GO) test -count=1 -timeout 120m -run CheckEndsWithAStory -v ./sim

mutants: ## break our own recipes in every place and see the tests notice: results/mutants.md (an hour)
	$(GO) run ./results/generate mutants

fuzz: ## look for bytes that the protocol's reader, the servers or the proxy cannot bear, FUZZTIME (default 10m) each
	@set -e; for package in ./wire ./fakezk/server ./ensemble/proxy ./ensemble/proxy/chaosproxy; do \
	for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	echo "$$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$package; done; done

bench: ## the benchmarks, on one core
	$(GO) test -run '^$$' -bench . -benchmem -cpu 1 ./...

results: ## measure bugs, speed, ensemble, zoo and others in results/ anew (half an hour; needs Java)
	$(GO) run ./results/generate all

bug-%:
	$(GO) run ./results/generate bug $*

docs: ## paste the output of every marked command into README.md and docs/*.md anew
	$(GO) test ./torturecli -run TestDocs -update

clean: ## remove what runs leave in the checkout
	rm -rf counterexamples out torture
	find . -path '*/testdata/rapid' -prune -exec rm -rf {} +
