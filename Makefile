# zktorture. Bare `make` lists the targets. Needed: Go 1.26; for real servers also Java 11, which
# `make zookeeper` installs on Debian when it may.

.DEFAULT_GOAL := help
.PHONY: help wheel run test gate needs compiled race-all packages of-command of-module modules pages short validate campaign chaos lint race zookeeper browser clients foreign agree wire soak thorough checks determinism million search exact mutants changes suites fuzz bench kills results results-foreign results-foreigngo results-served docs clean zoo cross cross-386 licences vuln release release-files release-notes release-check tidy versions release-snapshot profile exact-race site-check node site

# The root module is built as its users get it. The modules within it need it and each other: IN builds these by go.work.
export GOWORK := off
GO   ?= go
IN   := GOWORK= $(GO) -C
TORTURE := GOWORK= $(GO) run ./cmd/torture
RESULTS := GOWORK= $(GO) run ./results/generate
SEED ?= 1
SEEDS ?= 100000
ZOO_SEEDS ?= 2000
N    ?= 1000000
FUZZTIME ?= 10m
HOURS ?= 1
AGAIN ?= 0.25
KILLS ?= 10

help: ## list the targets
	@grep -hE '^[a-zA-Z%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

run: ## torture the lock in simulation (the main job; needs Go alone)
	GOWORK= $(GO) run -v ./cmd/torture run lock # -v names packages while they are built, the first time for up to a minute

# Simulated worlds run one goroutine at a time: with two processors a package takes up to twice the processor time. So
# each gets one; tests that want more ask for them. Tests of real servers wait much of the time. So there are four packages
# more than there are processors at a time, those first that take longest. GOGC: garbage is collected less often, by Go's
# own tools too. The time limits are for tests that hang: on a busy machine everything takes longer. What go vet says,
# lint says.
# MODULES are within this one, and have dependencies that it must not have. Two are tested at a time, the SLOW ones first.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
PACKAGES   := $(shell echo $$(($(PROCESSORS) + 4)))
MODULES  := $(filter-out internal/tools,$(patsubst %/go.mod,%,$(shell git ls-files '*/go.mod')))
LONG     := ./sim ./live/ensemble ./live/worker ./workload ./live ./story ./sim/internal/shrink ./fakezk/server \
            ./live/ensemble/proxy/chaosproxy ./linearizability ./recipes/zkclient ./live/ensemble/stepper
COMMAND  := ./cmd/torture ./sim/prove/... ./zoo/...
SLOW     := campaign fakezk/conformance
ATATIME  := $(MAKE) --no-print-directory -j

test: export GOGC := 400
test: ## all tests of this module, of the command and of the zoo, and what they need: real servers, other clients
	@$(ATATIME) 2 needs compiled
	@$(MAKE) --no-print-directory packages

gate: export GOGC := 400
gate: test ## everything that must pass: also the other modules, the site, linters, -race, exact mode (.ci/run runs it)
	@$(MAKE) --no-print-directory browser
	@$(ATATIME) 3 modules race pages lint exact

needs: # one after the other, as they wait for the same locks
	@set -e; for each in zookeeper clients; do $(MAKE) --no-print-directory $$each; done

compiled: # all packages and their tests, for which there is time while the network is waited for
	$(GO) list -deps -test -export ./... >/dev/null
	GOWORK= $(GO) list -deps -test -export $(COMMAND) >/dev/null

packages: ## the tests of this module, of the command and of the zoo, but for those of race and exact, and of pages
	@$(ATATIME) 2 of-command of-module

of-command:
	GOMAXPROCS=1 GOWORK= $(GO) test -vet=off -timeout 60m -p $(PROCESSORS) -parallel 4 $(COMMAND)

of-module:
	GOMAXPROCS=1 $(GO) test -vet=off -timeout 60m -p $(PACKAGES) -parallel 4 $(LONG) ./...

modules: ## the tests of the other modules within this one
	@$(ATATIME) 2 $(addprefix of/,$(SLOW) $(filter-out $(SLOW) cmd/torture sim/prove zoo,$(MODULES)))

of/%:
	GOMAXPROCS=1 $(IN) $* test -vet=off -timeout 60m -p 2 $$($(IN) $* list ./... | grep -v /generate/site)

pages: site ## the tests of the documentation site, and all commands that pages and the manual show
	GOMAXPROCS=1 $(IN) docs test -vet=off -timeout 60m ./generate/site
	ZKTORTURE_DOCS=all GOMAXPROCS=1 $(IN) cmd/torture test -vet=off -timeout 60m -run 'TestDocs|TestExamplesOfTheManual' -skip 'TestDocs/README.md' .

short: ## the quick tests only, without real servers
	$(GO) test -short ./...
	GOWORK= $(GO) test -short $(COMMAND)

lint: licences ## gofmt, go vet, staticcheck and licences
	@files="$$(gofmt -l .)"; if [ -n "$$files" ]; then echo "gofmt -w is needed for: $$files"; exit 1; fi
	$(GO) vet ./...
	$(GO) -C internal/tools vet ./...
	$(GO) tool -modfile=internal/tools/go.mod staticcheck ./...
	@set -ex; staticcheck="$$($(GO) tool -modfile=internal/tools/go.mod -n staticcheck)"; for module in $(MODULES); do \
	$(IN) $$module vet ./...; (cd $$module && GOWORK= "$$staticcheck" ./...); done

TARGETS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

cross: ## build the commands, and vet all packages and tests, for every system and processor of a release
	@set -e; export CGO_ENABLED=0; for target in $(TARGETS); do export GOOS=$${target%/*} GOARCH=$${target#*/}; \
	echo "cross: $$target"; $(IN) cmd/torture build -o /dev/null .; $(IN) cmd/torture-mcp build -o /dev/null .; $(IN) campaign build -o /dev/null ./torture-campaign; \
	$(GO) vet ./...; for module in $(MODULES); do $(IN) $$module vet ./...; done; done

# The packages that the simulator is made of. Their recorded hashes are the same on all processors.
SIMULATOR := ./sim/... ./fakezk ./fakezk/goclient ./linearizability ./recipes ./workload

cross-386: ## vet all packages for 32 bits, and run the quick tests of the simulator there (Linux on amd64)
	GOARCH=386 $(GO) vet ./...
	GOARCH=386 GOMAXPROCS=1 $(GO) test -vet=off -short -timeout 60m -p $(PROCESSORS) $(SIMULATOR)

MODULE   := github.com/zktorture/zktorture
HERE     := -replace=$(MODULE)=$(CURDIR) $(foreach module,$(MODULES),-replace=$(MODULE)/$(module)=$(CURDIR)/$(module))
NOT_HERE := -dropreplace=$(MODULE) $(foreach module,$(MODULES),-dropreplace=$(MODULE)/$(module))

tidy: ## go mod tidy for all modules; those within the root are told where the others are
	@set -ex; $(GO) mod tidy; $(GO) -C internal/tools mod tidy; for module in $(MODULES); do \
	$(GO) -C $$module mod edit $(HERE); $(GO) -C $$module mod tidy; $(GO) -C $$module mod edit $(NOT_HERE); done

licences: ## check that all modules that are used have licences that are allowed
	$(GO) -C internal/tools run ./licences $(foreach module,. $(MODULES),../../$(module))

VULNDB ?= https://vuln.go.dev

vuln: ## look for known vulnerabilities in what the commands are made of (VULNDB: the database, https://vuln.go.dev)
	@vulncheck="$$($(GO) tool -modfile=internal/tools/go.mod -n govulncheck)"; for module in . cmd/torture cmd/torture-mcp campaign; do \
	(cd $$module && GOWORK= "$$vulncheck" -db $(VULNDB) ./...) && continue; status=$$?; \
	test $$status = 3 || echo "vuln: nothing was checked, because govulncheck failed. It needs $(VULNDB): run it where that" \
	"can be reached, or name a copy: make vuln VULNDB=file:///path/to/vulndb"; exit $$status; done

GORELEASER := GOWORK= $(GO) run github.com/goreleaser/goreleaser/v2@v2.13.3
MD2MAN     := github.com/cpuguy83/go-md2man/v2@v2.0.7
CYCLONEDX  := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
VERSION    ?= Unreleased
PROGRAMS   := torture torture-campaign

release-files: ## what archives of a release have beside programs: licences, manuals, completions, in out/release
	rm -rf out/release
	mkdir -p out/bin out/release/man out/release/completions
	for tool in $(MD2MAN) $(CYCLONEDX); do GOBIN=$(CURDIR)/out/bin $(GO) install $$tool; done
	$(GO) -C internal/tools run ./licences -notices ../../out/release/THIRD_PARTY_NOTICES ../../cmd/torture ../../cmd/torture-mcp ../../campaign/torture-campaign
	for page in docs/reference/torture*.md; do name=$$(basename $$page .md); \
	{ echo "% $$name 1"; sed 1,3d $$page; } | out/bin/go-md2man > out/release/man/$$name.1; done
	$(IN) cmd/torture build -o $(CURDIR)/out/bin/torture .
	$(IN) campaign build -o $(CURDIR)/out/bin/torture-campaign ./torture-campaign
	for program in $(PROGRAMS); do for shell in bash zsh fish; do out/bin/$$program completion -c $$shell | \
	sed "s|$(CURDIR)/out/bin/||" > out/release/completions/$$program.$$shell; done; done

wheel: release-files ## the wheels of VERSION for pip, one for each system and processor of a release, in out/wheel (needs Python)
	rm -rf out/wheel
	@set -e; export CGO_ENABLED=0; for target in $(TARGETS); do program=out/wheel/$$target/torture; \
	GOOS=$${target%/*} GOARCH=$${target#*/} GOWORK= $(GO) -C cmd/torture build -trimpath -pgo release.pgo -ldflags "-s -w -X main.version=$(VERSION)" -o ../../$$program .; \
	python3 workers/python/wheel.py out/wheel $(VERSION) $$target $$program LICENSE out/release/THIRD_PARTY_NOTICES; \
	rm -r out/wheel/$${target%/*}; done

versions: ## have the modules require each other in the VERSION that is to be released, such as v1.2.3
	sed -i.old 's|\($(MODULE)[^ ]*\) v[^ ]*|\1 $(VERSION)|' go.work $(MODULES:%=%/go.mod)
	rm go.work.old $(MODULES:%=%/go.mod.old)

release-notes: ## the section of VERSION (default Unreleased) in CHANGELOG.md: out/release-notes.md
	@mkdir -p out; awk -v version="[$(VERSION:v%=%)]" '/^## /{on = $$2 == version; next} /^\[.*\]: /{on = 0} on' CHANGELOG.md > out/release-notes.md; \
	test -s out/release-notes.md || { echo "release-notes: CHANGELOG.md has no section ## [$(VERSION:v%=%)]: write it"; exit 2; }

release-check: ## check .goreleaser.yaml by goreleaser
	$(GORELEASER) check

IMAGE   := $(GO) -C internal/tools run ./image -like ../../campaign/deploy/Containerfile -dist ../../out/dist \
           -revision $(shell git rev-parse HEAD) -created $(shell git log -1 --format=%ct)

release-snapshot: ## build everything that a release has, without publishing it, in out/dist, and run each in a root of its own
	export PATH="$(CURDIR)/out/bin:$$PATH"; $(GORELEASER) release --snapshot --clean
	$(IMAGE) -version snapshot
	$(GO) -C internal/tools test -count=1 -v ./release

release: ## publish the release of the tag that is checked out, as a draft (what .github/workflows/release.yml does)
	export PATH="$(CURDIR)/out/bin:$$PATH"; $(GORELEASER) release --clean --release-notes out/release-notes.md
	$(IMAGE) -version $(VERSION) -push ghcr.io/$(or $(GITHUB_REPOSITORY),zktorture/zktorture)

# Packages in which things happen at the same time; make race-all has the others, too.
RACE ?= ./live/ensemble ./live/ensemble/proxy ./live/ensemble/relay ./fakezk ./fakezk/goclient ./fakezk/server ./live ./recipes ./live/worker ./recipes/zkclient
# Of the simulator, whose worlds run one goroutine at a time, those tests in which several run.
RACE_SIM ?= AtOnce|ResultDoesNotDependOnWorkers|LossesOverWire

race: ## the quick tests of concurrent packages with the race detector (needs a C compiler, or says that it is skipped)
	@if command -v "$$($(GO) env CC)" >/dev/null; then set -ex; $(GO) test -vet=off -race -short -timeout 60m -p 1 $(RACE); \
	$(GO) test -vet=off -race -short -timeout 60m -run '$(RACE_SIM)' ./sim; \
	else echo "race: skipped, because go test -race needs a C compiler and $$($(GO) env CC) is not here"; fi

race-all: ## the quick tests of all packages, and of campaigns, with the race detector (long)
	$(GO) test -vet=off -race -short -timeout 120m -p 1 ./...
	GOWORK= $(GO) test -vet=off -race -short -timeout 120m -p 1 $(COMMAND)
	$(IN) campaign test -vet=off -race -short -timeout 60m -p 1 ./...

validate: ## the manifests of campaign/deploy/: rendered as kubectl does, and held against Kubernetes's own schemas
	$(IN) campaign/deploy test -count=1 -run 'Manifests|Pods|Image' -v ./...

zookeeper: ## make sure that real servers can be started: fetch ZooKeeper, install Java if root on Debian
	@if [ -z "$$JAVA_HOME" ] && ! command -v java >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -q; fi
	$(GO) run ./live/ensemble/cmd/zkfetch -install-jre

browser: ## make sure that pages can be tested: install Chromium if root on Debian (else those tests are skipped)
	@for b in chromium chromium-browser google-chrome "$$CHROMIUM"; do command -v "$$b" >/dev/null 2>&1 && exit 0; done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	apt-get update -q && apt-get install -y -q --no-install-recommends chromium || echo "browser: Chromium could not be installed; its tests are skipped"; \
	else echo "browser: no Chromium here, so the tests of pages are skipped"; fi

node: ## make sure that the documentation site can be built: install Node.js and npm if root on Debian (else it is not)
	@if command -v node >/dev/null && command -v npm >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	apt-get update -q && apt-get install -y -q --no-install-recommends nodejs npm || echo "node: Node.js could not be installed; the site is not built"; \
	else echo "node: no Node.js and npm here, so the site is not built"; fi

# npm writes the file of this name at the end. Without the registry there is no site; with it a failure is one.
MODULES_OF_SITE := docs/node_modules/.package-lock.json
NPM := npm --prefix docs

$(MODULES_OF_SITE): docs/package-lock.json | node
	@if command -v npm >/dev/null; then $(NPM) ci --ignore-scripts --no-audit --no-fund || ! $(NPM) ping; fi

site: $(MODULES_OF_SITE) ## build the documentation site: out/site, which opens from a file system (needs Node.js, or says that it is skipped)
	@rm -rf out/site; if [ -e $(MODULES_OF_SITE) ]; then set -ex; GOWORK= $(GO) run ./docs/generate/site out/site/stories; $(NPM) run build; \
	else echo "site: skipped, because its modules from the npm registry are not here"; fi

CLIENTS := libcurator-recipes-java libcommons-cli-java zookeeper-bin default-jdk-headless \
	python3-kazoo python3-pytest python3-mock python3-objgraph python3-gevent python3-eventlet python3-venv junit5

clients: ## make sure that the client programs of fakezk/conformance/suites and workers can be run: install them if root on Debian (else those tests are skipped)
	@if dpkg -s $(CLIENTS) >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	apt-get update -q && apt-get install -y -q --no-install-recommends $(CLIENTS) || echo "clients: $(CLIENTS) could not all be installed; tests of what is missing are skipped"; \
	else echo "clients: $(CLIENTS) are not all here, and only root on Debian can install them; tests of what is missing are skipped"; fi

FOREIGN := python3-kazoo libcurator-recipes-java default-jdk-headless

foreign: ## make sure that kazoo's and Curator's recipes can be run: install them if root on Debian
	@if dpkg -s $(FOREIGN) >/dev/null 2>&1; then echo "foreign: kazoo and Curator are here"; \
	elif ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
	echo "foreign: $(FOREIGN) are not all here, and only root on Debian can install them"; exit 2; \
	else apt-get update -q && apt-get install -y -q --no-install-recommends $(FOREIGN); fi

agree: ## compare the judge with exhaustive search on N small histories of each model (default 1000000) from SEED, and with porcupine on N of all
	ZKTORTURE_AGREE=$(N) ZKTORTURE_AGREE_SEED=$(SEED) $(IN) results test -count=1 -timeout 240m -run TheJudgeAgrees -v ./internal/exhaustive
	ZKTORTURE_AGREE=$(N) $(IN) results test -count=1 -timeout 120m -run TestNever -v ./internal/correct
	ZKTORTURE_AGREE=$(N) $(GO) test -count=1 -timeout 120m -run TestAgree -v ./linearizability

wire: zookeeper ## send the fake and a real server the same N requests (default 1000000) of SEED, and compare the answers: results/wire.md
	ZKTORTURE_WIRE=$(or $(N),1000000) ZKTORTURE_WIRE_SEED=$(SEED) $(IN) fakezk/conformance test -count=1 -timeout 240m -run '^TestWire$$' -v .

determinism: ## run SEEDS seeds (default 100000) of all kinds, and ZOO_SEEDS (default 2000) of each recipe of the zoo, three times and compare them one by one
	ZKTORTURE_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 120m -run Determinism -v ./sim
	ZKTORTURE_ZOO_SEEDS=$(ZOO_SEEDS) $(IN) zoo test -count=1 -timeout 120m -run Determinism -v .

EXACT ?= 40

exact: ## exact mode: its tests, programs built in it, and EXACT seeds (default 40) compared between processes
	ZKTORTURE_EXACT=$(EXACT) $(TORTURE) test -count=1 -timeout 120m -run 'Exact|Recorded|Edits' -v ./internal/cli/exact ./sim ./sim/world ./workload/service ./zoo
	ZKTORTURE_EXACT=$(EXACT) $(IN) cmd/torture test -count=1 -vet=off -timeout 60m -run 'Exact|TortureTest' . ./scan
	$(IN) zoo/foreign run github.com/zktorture/zktorture/cmd/torture test -count=1 -vet=off -timeout 60m -run 'Known|GoodDaysAreClean' .

exact-race: ## exact mode in campaigns, and with the race detector: EXACT seeds compared between processes (it builds Go's library twice)
	ZKTORTURE_EXACT=$(EXACT) $(IN) campaign test -count=1 -vet=off -timeout 60m -run Exact ./units ./torture-campaign/runner
	@if command -v "$$($(GO) env CC)" >/dev/null; then \
	ZKTORTURE_EXACT=$$(($(EXACT) < 500 ? $(EXACT) : 500)) $(TORTURE) test -race -vet=off -count=1 -timeout 120m -run 'ExactAcrossProcesses' -v ./sim; \
	else echo "exact: without -race, which needs a C compiler"; fi

zoo: ## hunt every animal of the zoo: recipes known to be broken; fails if one is not found
	$(TORTURE) zoo --seed $(SEED)

zoo-%: ## hunt one animal, such as zoo-DQ6; succeeds when the bug is found and its twin is clean
	$(TORTURE) zoo $* --seed $(SEED)

search: ## hunt the zoo by the strategy mix, and hard animals by random, with ten fresh seeds: results/search.md (goes on where it was; minutes)
	$(RESULTS) search

million: ## a million episodes of every recipe, or of KIND=lock: results/million.md (minutes each)
	$(RESULTS) million $(KIND)

suites: zookeeper clients ## torture's servers beside real ones: Curator, zkCli, the C client, go-zookeeper's and kazoo's own tests (five minutes)
	@dpkg -s $(CLIENTS) >/dev/null 2>&1 || { echo "suites: not all of $(CLIENTS) are here"; exit 2; }
	ZKTORTURE_SUITES=all $(IN) fakezk/conformance test -count=1 -timeout 60m -parallel 2 -v ./suites

campaign: ## all recipes of ours and the zoo for HOURS hours (default 1), and AGAIN hours (0.25) with what that has found: results/campaign/
	rm -rf out/campaign results/campaign/night-* && mkdir -p out/campaign results/campaign/night-1 results/campaign/night-2
	$(IN) campaign build -o ../out/campaign/ ./torture-campaign
	@set -e; cd out/campaign; to=../../results/campaign; for night in night-1,$(HOURS) night-2,$(AGAIN); do \
	hours=$${night#*,}; night=$${night%,*}; echo "torture-campaign start $$night.json --dir $$night"; \
	sed "s/\"duration\": \"[^\"]*\"/\"duration\": \"$${hours}h\"/" $$to/plan.json > $$night.json; \
	./torture-campaign start $$night.json --dir $$night --failures failures > $$night.txt && status=0 || status=$$?; \
	cat $$night.txt; \
	./torture-campaign report $$night --markdown $$to/$$night/report.md || test $$? -eq $$status; \
	sed 's|$(CURDIR)/||g' $$night.txt > $$to/$$night/said.txt; test $$status -ne 2; done

chaos: ## a campaign whose processes are killed KILLS times (default 10), at moments drawn from SEED, reports what one machine does
	ZKTORTURE_CHAOS=$(KILLS) ZKTORTURE_CHAOS_SEED=$(SEED) $(IN) campaign test -count=1 -timeout 60m -run Chaos -v ./command

soak: ## torture four of our recipes on three real servers, ten minutes each: results/soak.md
	@set -e; for kind in lock queue election counter; do \
	$(TORTURE) live $$kind --start 3 --duration 10m --seed $(SEED); done

results-foreign: foreign zookeeper ## torture kazoo's and Curator's recipes: results/foreign.md (half an hour)
	$(RESULTS) foreign

results-served: foreign zookeeper ## torture the same on torture serve, and confirm what is found: results/served.md (half an hour)
	$(RESULTS) served

results-foreigngo: zookeeper ## torture the recipes of other Go projects, in simulation and on real servers: results/foreigngo.md (half an hour)
	$(RESULTS) foreigngo

kills: ## kill a run on real servers fifty times, and see that nothing is left: results/kills.md (minutes)
	ZKTORTURE_KILLS=50 $(IN) cmd/torture test -count=1 -timeout 60m -run '^TestKilledRun$$' -v .

thorough: ## the tests of which make test takes a few animals, seeds or episodes, with all of them (three quarters of an hour)
	ZKTORTURE_THOROUGH=all $(IN) sim/prove test -count=1 -timeout 120m ./...
	ZKTORTURE_THOROUGH=all $(GO) test -count=1 -timeout 120m ./story ./sim/... ./workload/... ./live/ensemble ./live/worker
	ZKTORTURE_THOROUGH=all $(IN) fakezk/conformance test -count=1 -timeout 120m .
	ZKTORTURE_THOROUGH=all $(IN) zoo test -count=1 -timeout 120m ./...
	ZKTORTURE_THOROUGH=all $(IN) results test -count=1 -timeout 120m ./...
	ZKTORTURE_THOROUGH=all $(IN) cmd/torture test -count=1 -timeout 60m -run RunToldToEnd .
	ZKTORTURE_THOROUGH=all $(GO) test -count=1 -timeout 60m -run ConfirmOf ./internal/cli

checks: ## sim.Check on 44 broken recipes with 20 seeds each: every test ends with a story (a quarter of an hour)
	ZKTORTURE_CHECKS=all $(GO) test -count=1 -timeout 120m -run CheckEndsWithAStory -v ./sim
	ZKTORTURE_CHECKS=all $(IN) zoo test -count=1 -timeout 120m -run CheckEndsWithAStory -v .

mutants: ## break our own recipes in every place and see the tests notice: results/mutants.md (an hour)
	$(RESULTS) mutants

changes: ## break our recipes in one line, thirty times, and see a search show it: results/changes.md (minutes)
	$(RESULTS) changes

fuzz: ## look for bytes that the protocol's reader, the servers or the proxy cannot bear, FUZZTIME (default 10m) each
	@set -e; for package in ./fakezk/wire ./fakezk/server ./live/ensemble/proxy ./live/ensemble/proxy/chaosproxy; do \
	for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	echo "$$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$package; done; done

bench: ## the benchmarks, on one core
	$(GO) test -run '^$$' -bench . -benchmem -cpu 1 ./...

profile: ## release.pgo: by what campaigns do releases are compiled
	$(GO) test -vet=off -run '^$$' -bench Kinds -benchtime 5s -cpu 1 -cpuprofile $(CURDIR)/cmd/torture/release.pgo -o out/sim.test ./sim

monitors: ## the monitors of histories alone, and porcupine beside them: results/monitors.md (minutes)
	$(GO) test -run '^$$' -bench 'QueueMillion|BenchmarkLock$$/monitor/1000000|BenchmarkPermits' -cpu 1 ./linearizability
	$(GO) test -run '^$$' -bench 'BenchmarkMonitorQueue$$|BenchmarkLockByPorcupine' -benchtime 1x -cpu 1 ./linearizability

speed: zookeeper ## episodes a second on one core, and torture's servers beside Apache's: results/speed.md (minutes)
	@set -e; for recipe in lock queue queue:ours/receipts; do for seed in 1 2 3 4 5; do \
	echo "$$recipe, seed $$seed:"; GOWORK= $(GO) run ./results/pace $$recipe 10000 $$seed; done; done
	$(GO) test -vet=off -timeout 30m -run '^$$' -bench '^Benchmark(BesideApache|Start|Sessions|Znodes)$$' -count 5 ./fakezk/server

results: ## measure the zoo and the judge anew: results/zoo.md, results/judging.md, results/judge.md (an hour)
	$(RESULTS) zoo
	$(RESULTS) judging
	$(RESULTS) judge

docs: ## paste the output of every marked command into README.md and docs/*.md anew, and write docs/reference
	ZKTORTURE_DOCS=all $(IN) cmd/torture test . -run 'TestDocs|TestReference$$' -update
	$(IN) campaign test ./command -run 'TestReference$$' -update
	$(IN) docs test ./generate/schemas -run 'TestReference$$' -update

site-check: site ## every page of the site in a browser, by axe-core; make pages takes every eighth
	ZKTORTURE_PAGES=all $(IN) docs test -count=1 -timeout 60m ./generate/site

clean: ## remove what runs leave in the checkout
	rm -rf counterexamples out torture docs/node_modules docs/.vitepress/cache
	find . '(' -path '*/testdata/rapid' -o -path '*/testdata/zktorture' ')' -prune -exec rm -rf {} +
