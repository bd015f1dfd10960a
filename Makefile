# `make help` lists the targets. GNU make, a Go toolchain and npm are enough.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO ?= go
# The output of `svc version`. Without a git history, the program uses the version that the compiler recorded.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LINT_VERSION := v2.15.0
LINT := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

PRETTIER := npm ci --prefix http/console/app --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null && http/console/app/node_modules/.bin/prettier

# The race detector needs cgo and so a C compiler. Nothing else needs one.
HAS_CC := $(shell test "$$($(GO) env CGO_ENABLED)" = 1 && command -v "$$($(GO) env CC | cut -d' ' -f1)" >/dev/null 2>&1 && echo yes)
RACE := $(if $(HAS_CC),-race,)

# The tests to run: make test PKG=./storage/kafka RUN=TestLane
PKG ?=
RUN ?=

# The race detector requires a second compilation of a package and its dependencies, and makes tests several times
# slower. So it runs only on the packages with many goroutines of this project.
RACED := ./cluster/... ./actors/... ./storage/kafka/... ./storage/spool/... ./http/route/... ./http/admission/... ./http/ingest/...

# Proofs kill nodes, run hundreds of random histories, or wait until the engine has removed files. They take longer than
# all other tests.
PROOFS := ThroughFaults|AcrossLostNodes|AcrossKills|AfterAKill|IsGone|ATurnEndsWithItsNode|AThousandPartitions|ADamagedFolder
# Tests that take seconds each: they kill, move, restore or recount a server, or process much data.
LONG := AnEnvironmentMoves|AMoveThatIs|AStoreThatIsAway|ASlowStore|StoreThatWasLost|ShardThatWasLost|ARebuildKnows|ABackupOfTwoStores|ARestoreOver|ASilentSignal|RevenueFrom|StrangersWrote|AreMaskedEverywhere|AMergeThatIsRepeated|OfTheErasedAreGone|ThroughKills|AFlagFollows|RulesOfTheStream|TestBudgets|AReportReaches|LongestRetention|LoweringTheRetention|AreEvaluatedWhile|OnTwoStores|ADemoFills|AccessLogsNumbers|AnUpgradeThatIsKilled|OthersWaitForFewTrials|RandomConversations|AReplayMakes|ABlockStaysBelow|BodiesStay|Transcripts|AConversationIsOneOn|TheLogsAbsence|AreASignal|ExportsHoldWhat|AnExportImportsElsewhere|ASecondOperator|SurvivesRestarts|WhatTheFeedShows|ASnapshotIsOneInstant|TakesEveryMonth|TheServerCountsRight|AChangeLeavesItsTrail|AnIncidentEndsWith|TelemetryAddsUp|WakeupsAreDelivered
LONG_IN := ./cmd/svc ./storage/clickhouse/block ./storage/clickhouse/database ./storage/clickhouse/backup ./bench/recount ./actors/conversations ./actors/alerting ./actors/pipeline ./http/ingest
# Tests with programs from npm; `make sdk` runs them.
CLIENTS := PublishedClients
PROVING := ./actors/... ./cmd/svc
# Packages that compare many combinations with plain code. `make test` tests some of them, the proofs test all.
SAMPLED := ./storage/clickhouse/reads ./storage/clickhouse/people ./storage/clickhouse/metrics

# Tests of other packages with much concurrency. `make race` runs them under the race detector.
BUSY := GoesAway|TheLiveStream|AnIncident|TurnsEnd|Transcripts|ABackup|AnIssueLives|AStartWaits|Journal|Commit|Warmer|Memory|Share|TheCache
WATCHED := ./cmd/svc ./storage/clickhouse/... ./storage/chdb/... ./storage/groupcommit ./storage/lru

# Packages that start the engine or a server; test-quick leaves them out.
SLOW := svc/(cmd/svc|storage/(clickhouse|chdb)|bench)(/|$$)

# More than two packages at a time only slow down each other's timing tests.
PARALLEL ?= 2
TEST_TIMEOUT ?= 30m
# Tests create and delete thousands of small files, which takes a fifth of their processor time on a disk. So their
# folders are in memory if it has enough room. TMPDIR=/tmp puts them on disk.
MEMORY := /dev/shm
ROOM := $(shell df --output=avail -k $(MEMORY) 2>/dev/null | tail -n 1)
TEST_DIR := $(or $(TMPDIR),$(shell test -w $(MEMORY) && test "$(or $(ROOM),0)" -gt 8000000 && echo $(MEMORY)))
# `make lint` runs vet, and a test needs no debug symbols.
TEST := $(if $(TEST_DIR),TMPDIR=$(TEST_DIR)) $(GO) test -vet=off -ldflags=-w -p $(PARALLEL) -timeout $(TEST_TIMEOUT)
# Tests without the race detector are compiled with the settings of `make build`, so that both share the build cache.
PLAIN := CGO_ENABLED=0 $(TEST)
# SHUFFLE=-shuffle=on runs tests in a random order, as CI does. Without it, unchanged packages that passed are not run
# again.
SHUFFLE ?=
# SHORT=-short runs the short form of the proofs, as CI does.
SHORT ?=

FUZZ_COUNT ?= 200000x

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: deps
deps: ## fetch the engine library and the country database, once
	@scripts/fetch-chdb.sh
	@scripts/fetch-geo.sh

# deploy/Dockerfile builds with -trimpath. Here that would require a second compilation of everything for the tests.
.PHONY: build
build: ## compile bin/svc
	CGO_ENABLED=0 $(GO) build -ldflags "-X svc/cmd/svc/version.release=$(VERSION)" -o bin/svc ./cmd/svc

# The engine library is fetched while the compiler runs.
.PHONY: run
run: ## start the server on one machine without other services
	@$(MAKE) --jobs=2 deps build
	@exec bin/svc serve

.PHONY: up
up: ## start three nodes over Apache Kafka and ClickHouse with docker compose
	VERSION=$(VERSION) docker compose up --build --detach --wait

.PHONY: down
down: ## stop the nodes of up; make down VOLUMES=1 also deletes their data
	docker compose down $(if $(VOLUMES),--volumes,)

.PHONY: test-quick
test-quick: deps ## run the tests without engine and server; under a minute; unchanged packages are not repeated
	$(PLAIN) -skip '$(PROOFS)|$(LONG)' $$($(GO) list ./... | grep -Ev '$(SLOW)')

# The longest package comes first, so that it does not run alone at the end.
.PHONY: test
test: deps ## run all tests except the long ones; make test PKG=./storage/kafka RUN=Lane runs some
ifneq ($(PKG)$(RUN),)
	$(TEST) $(RACE) $(if $(RUN),-run '$(RUN)' -count=1,-skip '$(CLIENTS)') $(or $(PKG),./...)
else
	@$(MAKE) test-raced test-plain
endif

# These are two targets, so that `make --keep-going test` runs the second even if a test of the first fails.
.PHONY: test-raced
test-raced: deps
	@$(if $(HAS_CC),,echo "make test: no C compiler found, so the race detector is off" >&2)
	$(TEST) $(RACE) $(SHUFFLE) -skip '$(PROOFS)|$(LONG)' $(RACED)

.PHONY: test-plain
test-plain: deps
	$(PLAIN) -short $(SHUFFLE) -skip '$(PROOFS)|$(LONG)|$(CLIENTS)' ./cmd/svc $$($(GO) list ./... | grep -vxF -e svc/cmd/svc -f <($(GO) list $(RACED)))

# These are separate targets, so that `make --keep-going proofs` runs each even if a test of another fails.
.PHONY: proofs
proofs: proofs-raced proofs-plain proofs-without proofs-sampled ## run the long tests: random histories with failing nodes, killed servers, all combinations of queries

.PHONY: proofs-raced
proofs-raced: deps
	$(TEST) $(RACE) $(SHORT) -run '$(PROOFS)' -count=1 $(PROVING)

.PHONY: proofs-plain
proofs-plain: deps
	$(PLAIN) $(SHORT) -run '$(LONG)' -skip '$(PROOFS)' -count=1 $(LONG_IN)

.PHONY: proofs-without
proofs-without: deps
	$(PLAIN) -tags norevenue -run 'WithoutTheModule' -count=1 ./cmd/svc

.PHONY: proofs-sampled
proofs-sampled: deps
	$(if $(SHORT),,$(PLAIN) -count=1 $(SAMPLED))

.PHONY: race
race: deps ## run the busiest tests of other packages under the race detector
	$(TEST) $(RACE) -run '$(BUSY)' -skip '$(PROOFS)' -count=1 $(WATCHED)

.PHONY: cover
cover: deps ## run all tests and write the coverage to cover.html
	$(TEST) -shuffle=on -skip '$(CLIENTS)' -coverpkg=./... -coverprofile=cover.out $(or $(PKG),./...)
	$(GO) tool cover -html=cover.out -o cover.html
	@$(GO) tool cover -func=cover.out | tail -n 1

.PHONY: fuzz
fuzz: deps ## run every fuzz target for FUZZ_COUNT inputs
	@GO='$(GO)' scripts/fuzz.sh '$(FUZZ_COUNT)' $(or $(PKG),./...)

# SCREENSHOTS=docs/images saves screenshots of the pages; CHROMIUM is the path of a browser.
.PHONY: browser
browser: deps build ## use the console, read the public page and follow the assistant in Chromium
	npm ci --prefix test/browser --no-audit --no-fund --ignore-scripts --loglevel=error
	SCREENSHOTS='$(if $(SCREENSHOTS),$(abspath $(SCREENSHOTS)))' node --test --test-reporter=spec test/browser/*.test.mjs

# The duration: make browser-soak MINUTES=30
MINUTES ?= 30

.PHONY: browser-soak
browser-soak: deps build ## leave the live pages of the console open for MINUTES, and measure their memory
	npm ci --prefix test/browser --no-audit --no-fund --ignore-scripts --loglevel=error
	MINUTES=$(MINUTES) node --test --test-reporter=spec test/browser/soak.mjs

# make lighthouse ONLY='^settings' selects pages; SHORT=1 omits performance.
ONLY ?=

.PHONY: lighthouse
lighthouse: deps build ## audit every page of the console with Lighthouse
	npm ci --prefix test/lighthouse --no-audit --no-fund --ignore-scripts --loglevel=error
	ONLY='$(ONLY)' SHORT='$(SHORT)' node test/lighthouse/lighthouse.mjs

.PHONY: script
script: ## build /svc.js from sdk/browser
	npm ci --prefix sdk/browser --no-audit --no-fund --ignore-scripts --loglevel=error
	cd sdk/browser && npx --no-install tsc --noEmit && node build.mjs

.PHONY: script-check
script-check: ## fail if /svc.js does not match its sources
	@scripts/unchanged.sh $(MAKE) script

.PHONY: sdk
sdk: deps build script-check ## test published SDKs and published clients against a real server
	npm ci --prefix test/sdk --no-audit --no-fund --ignore-scripts --loglevel=error
	node --test --test-reporter=spec test/sdk/*.test.mjs
	cd test/openapi && $(GO) test -vet=off -count=1 ./...
	@scripts/fetch-mcp-clients.sh
	$(PLAIN) -run '$(CLIENTS)' -count=1 ./cmd/svc

# Flags of the crash test: make crash CRASH='-kills 6 -events 2000'
CRASH ?=

.PHONY: crash
crash: deps build ## kill the server under load, and count lost and duplicate events
	$(GO) run ./bench/crash $(CRASH)

# Flags of the cluster test: make cluster-test CLUSTER='-duration 10m'
CLUSTER ?=

.PHONY: cluster
cluster: deps build ## start three nodes on this machine over one log and one store
	@exec scripts/cluster.sh

.PHONY: cluster-test
cluster-test: deps build build-store ## kill, pause, isolate and restart nodes and the store under load, and count events
	$(GO) run ./bench/cluster $(CLUSTER)

.PHONY: build-store
build-store:
	CGO_ENABLED=0 $(GO) build -o bin/svc-store ./storage/chdb/serve

# The port of Apache Kafka: make kafka KAFKA_PORT=9092
KAFKA_PORT ?= 9092

.PHONY: kafka
kafka: ## fetch Apache Kafka with Maven, once, and run it on loopback
	@PORT=$(KAFKA_PORT) exec scripts/kafka.sh

.PHONY: test-kafka
test-kafka: deps build build-store ## run the contract tests of the log and the cluster test on Apache Kafka
	@GO='$(GO)' scripts/test-kafka.sh $(CLUSTER)

# Flags of the recount: make recount RECOUNT='-seed 7 -combinations 2000'
RECOUNT ?=

.PHONY: recount
recount: deps build ## run 10,000 random queries, and recompute every answer
	$(GO) run ./bench/recount $(RECOUNT)

# Flags of all benchmarks: make bench BENCH='-pin'. See bench/README.md.
BENCH ?=

.PHONY: bench
bench: deps build build-store ## run the benchmarks in their short form, and update their table
	$(GO) run ./bench/limits $(BENCH)
	$(GO) run ./bench/ingest $(BENCH)
	$(GO) run ./bench/query $(BENCH)
	$(GO) run ./bench/errors $(BENCH)
	$(GO) run ./bench/monitors $(BENCH)
	$(GO) run ./bench/metrics $(BENCH)
	$(GO) run ./bench/state $(BENCH)
	$(GO) run ./bench/revenue -subscriptions 5000 $(BENCH)
	$(GO) run ./bench/flags $(BENCH)
	$(GO) run ./bench/campaigns -people 3000 -rate 300 -every 8s $(BENCH)
	$(GO) run ./bench/report

# Flags of this benchmark: make bench-assistant ASSISTANT='-pin -turns 1000 -seconds 30 -idle 10000'
ASSISTANT ?=

.PHONY: bench-assistant
bench-assistant: deps build ## measure the relay of the assistant's answers
	$(GO) run ./bench/assistant $(ASSISTANT)

# Flags of this benchmark: make bench-console CONSOLE='-events 10000000'
CONSOLE ?=

.PHONY: bench-console
bench-console: deps build ## measure the time until the overview is complete in Chromium
	npm ci --prefix test/browser --no-audit --no-fund --ignore-scripts --loglevel=error
	$(GO) run ./bench/console $(CONSOLE)

.PHONY: golden
golden: deps ## rewrite the golden files from the current output
	@GO='$(GO)' scripts/golden.sh

# The output is committed, so that the program compiles without Node.js.
.PHONY: console
console: ## build the pages of the console from http/console/app
	npm ci --prefix http/console/app --no-audit --no-fund --ignore-scripts --loglevel=error
	node http/console/app/build.mjs

.PHONY: gen
gen: console ## regenerate the committed generated files
	$(GO) run ./protos/gen
	$(GO) run ./actors/enrich/gen

.PHONY: gen-check
gen-check: ## fail if the generated files do not match gen
	@scripts/unchanged.sh $(MAKE) gen

.PHONY: fmt
fmt: ## format the Go and TypeScript files
	$(LINT) fmt ./...
	@$(PRETTIER) --write --log-level warn '**/*.{ts,tsx,mjs}'

.PHONY: lint
lint: ## vet and golangci-lint (the first time compiles it, about a minute)
	$(GO) vet ./...
	$(LINT) run ./...
	$(GO) run ./cmd/house
	@$(PRETTIER) --check --log-level warn '**/*.{ts,tsx,mjs}'

.PHONY: house
house: ## print sizes, modules and turns of phrase in comments and documents, with their limits
	$(GO) run ./cmd/house -worst 10

.PHONY: check
check: build lint gen-check test proofs ## everything a pull request needs

.PHONY: clean
clean: ## delete the build output, but not the data directory and the cache
	rm -rf bin cover.out cover.html
