# One command for each thing one does here. `make help` lists them.
SHELL := /bin/bash
PRESET ?= release
JOBS ?= $(shell nproc)
# Some tests wait for somebody else most of their time.
TEST_JOBS ?= $(shell echo $$(($$(nproc) + 1)))
BUILD := build/$(PRESET)

LEFT_OUT ?= long$$|^extended$$

.DEFAULT_GOAL := help
.PHONY: help apart test-deps chaos schemathesis demo console test-console stop packages test test-all test-long kubernetes kube-apiserver test-kube-apiserver test-kubernetes slurm-current test-extended build install deps docs check bench bench-moment bench-opensm bench-repair bench-outages bench-certificate bench-postgres bench-replay lint tidy mutants rules hygiene tidy-changed format sanitize sanitize-sample sanitize-service simulate tsan fuzz clean configure

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: deps  ## build, start railweaved, place jobs, ask what-ifs, restart: the whole main job in a minute
	@$(MAKE) --no-print-directory build TARGETS="railweaved railweave railweave-verify"
	@web/build.sh
	@deploy/demo.sh $(BUILD)/bin

console: deps  ## build the operator's console into web/dist: railweaved --console web/dist
	@web/build.sh

test-console:  ## the console's tests, in Chromium against a real railweaved
	@$(MAKE) --no-print-directory build TARGETS="railweaved railweave"
	@web/test.sh $(BUILD)/bin; status=$$?; [ $$status -eq 77 ] || exit $$status

stop:  ## stop the railweaved that `make demo` left running
	@deploy/demo.sh --stop

test: test-deps  ## install, build, run the tests but the long ones and the extended ones
	@$(MAKE) --no-print-directory configure
	@cmake $(BUILD) > $(BUILD).log || cmake $(BUILD)  # that of the demo knows nothing of what was installed since
	@$(MAKE) --no-print-directory build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(TEST_JOBS) -LE '$(LEFT_OUT)'

test-all:  ## the same with the long ones: an hour
	@$(MAKE) --no-print-directory test LEFT_OUT='^extended$$'

test-long: test-deps build  ## the long ones alone (PARTS=3 PART=1: one in three)
	@ctest --test-dir $(BUILD) --output-on-failure -j $(TEST_JOBS) -L 'long$$' -I $(or $(PART),1),,$(or $(PARTS),1)

apart:  ## make test beside decoys, which fail it where a test asks a service that it did not start
	@tests/decoy.py $(MAKE) --no-print-directory test

kubernetes:  ## build Kubernetes and managers of other kinds for the tests, once: about 25 minutes of processor time (Go 1.26)
	@tests/kubernetes/binaries/build.sh && tests/kubernetes/managers/build.sh

kube-apiserver:  ## build its API server alone, for at most BUILD_SECONDS: enough for ctest -L kubernetes-api
	@status=0; timeout $(or $(BUILD_SECONDS),0) tests/kubernetes/binaries/build.sh kube-apiserver || status=$$?; \
	  [ $$status -ne 124 ] || echo "not built within $(BUILD_SECONDS) s; what is compiled stays in Go's cache"; \
	  case $$status in 0|77|124) ;; *) exit $$status ;; esac

test-kube-apiserver: deps build kube-apiserver  ## those tests, where it is built
	@ctest --test-dir $(BUILD) --output-on-failure -L kubernetes-api

test-kubernetes: deps build kubernetes  ## all tests on Kubernetes, whole clusters too (etcd: deploy/install-dependencies.sh --with-kubernetes)
	@ctest --test-dir $(BUILD) --output-on-failure -L kubernetes

slurm-current:  ## build a current Slurm for its tests, once: about 10 minutes of one processor
	@tests/slurm/build.sh

test-extended: deps build  ## whole clusters of Kubernetes (make kubernetes), long runs of Slurm (make slurm-current) (PARTS=3 PART=1: one in three)
	@ctest --test-dir $(BUILD) --output-on-failure -L '^extended$$' $(if $(EXCEPT),-E '$(EXCEPT)') -I $(or $(PART),1),,$(or $(PARTS),1)

install:  ## copy what was built below /usr/local (DESTDIR=/elsewhere before it): programs, plugins, console, units of systemd
	@cmake --install $(BUILD) > /dev/null && echo "installed below $(DESTDIR)/usr/local; railweaved --help, railweave --help"

docs: build  ## the documentation's site, in build/docs/site (MkDocs, from PyPI)
	@/usr/bin/python3 -m venv $${XDG_CACHE_HOME:-$$HOME/.cache}/railweave/docs
	@$${XDG_CACHE_HOME:-$$HOME/.cache}/railweave/docs/bin/pip install --quiet --disable-pip-version-check -r deploy/docs/requirements.txt
	@/usr/bin/python3 deploy/docs/build.py $(BUILD)/bin/railweave build/docs --mkdocs $${XDG_CACHE_HOME:-$$HOME/.cache}/railweave/docs/bin/mkdocs

packages: build console  ## Debian packages of all that, in build/packages
	@cpack --config $(BUILD)/CPackConfig.cmake -G DEB -B build/packages > build/packages.log || { tail -n 20 build/packages.log; exit 1; }
	@ls -s --block-size=1K build/packages/*.deb

build: configure  ## build everything (PRESET=release, debug, tsan, tidy or fuzz; TARGETS=... for some)
	@cmake --build $(BUILD) -j $(JOBS) $(if $(TARGETS),--target $(TARGETS)) 

configure: deps
	@mkdir -p build
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET) > $(BUILD).log 2>&1 || cmake --preset $(PRESET)

deps:
	@deploy/install-dependencies.sh

test-deps:
	@deploy/install-dependencies.sh --for-tests

bench: deps  ## run the benchmarks; JSON results in bench-results/ (FILTER=regex for some)
	@$(MAKE) --no-print-directory build TARGETS="all benchmarks"
	@tests/bench/run.sh $(BUILD) "$(FILTER)"

bench-moment: deps  ## every benchmark for a moment: that it runs, not what it measures
	@$(MAKE) --no-print-directory build TARGETS="all benchmarks"
	@tests/bench/run.sh $(BUILD) "" --moment
	@tests/bench/moment.sh $(BUILD)

# OpenSM and ibsim are not among the dependencies: Debian's opensm package starts a subnet manager where there is a port.
bench-opensm: deps  ## lab route beside Debian's OpenSM on ibsim (packages opensm, ibsim-utils; SIZES="1728 3456")
	@$(MAKE) --no-print-directory build TARGETS=railweave
	@tests/bench/opensm.sh $(BUILD)/bin/railweave $(or $(SIZES),1728 3456); status=$$?; [ $$status -eq 77 ] || exit $$status

bench-repair: deps  ## a cable cut on ibsim: trap to last block written, beside OpenSM (FABRICS="648 1728")
	@$(MAKE) --no-print-directory build TARGETS="railweaved railweave"
	@python3 tests/bench/repair.py $(BUILD)/bin $(FABRICS); status=$$?; [ $$status -eq 77 ] || exit $$status

bench-outages: deps  ## a spine, then 1% of the cables, on ibsim: cut to last block written, memory, pairs lost, beside OpenSM (FABRICS="648 torus")
	@$(MAKE) --no-print-directory build TARGETS="railweaved railweave"
	@python3 tests/bench/outages.py $(BUILD)/bin $(FABRICS); status=$$?; [ $$status -eq 77 ] || exit $$status

bench-certificate: deps  ## a certificate of 102,400 GPUs and 500 jobs: made, verified, other clients meanwhile (SIZE="1024 50": hosts, jobs)
	@$(MAKE) --no-print-directory build TARGETS="railweaved railweave railweave-verify"
	@/usr/bin/python3 tests/bench/certificate.py $(BUILD)/bin $(SIZE)

bench-postgres: deps  ## appends to PostgreSQL beside pgbench with the same bytes (deploy/install-dependencies.sh --with-postgresql)
	@$(MAKE) --no-print-directory build TARGETS=postgres_append_rate
	@/usr/bin/python3 tests/bench/postgres.py $(BUILD)/tests/bench/postgres

bench-replay: deps  ## placement beside other schedulers' in replays by four judges, and segments on 5,000 nodes (SIZE="10 1000": seeds, jobs)
	@$(MAKE) --no-print-directory build TARGETS=railweave
	@/usr/bin/python3 tests/bench/replay.py $(BUILD)/bin $(SIZE)

bench-greedy: deps  ## a patient tenant's 99th percentile alone, beside one greedy tenant and beside nine
	@$(MAKE) --no-print-directory build TARGETS=railweaved
	@/usr/bin/python3 tests/bench/greedy_tenant.py $(BUILD)/bin

CHAOS := kill_nine|kill_nine_queue|kill_nine_postgres|replicas_[a-z_]+|store_care|admin|large_answers|tls|flood|live_faults|live_random|damping|cut_off|opensm_never_worse|opensm_lanes|direct_holes|changed_tables|live_rates|exchanged_devices|management_keys
chaos: deps  ## what the service survives: kills, failover, lost stores, bad clients, broken subnets; tests/README.md has its figures
	@$(MAKE) --no-print-directory build TARGETS="railweaved railweave"
	@bash -o pipefail -c "ctest --test-dir $(BUILD) -R '^integration.($(CHAOS))$$' -V | sed -un 's/^[0-9]*: //p; /Test *#/p; /tests passed/p'"

schemathesis: deps  ## requests made from the contract for SECONDS (60) against a live service (--with-schemathesis; SEED=1)
	@$(MAKE) --no-print-directory build TARGETS=railweaved
	@/usr/bin/python3 tests/contract/schemathesis/run.py $(BUILD)/bin/railweaved api/openapi.yaml \
	  --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1); status=$$?; [ $$status -eq 77 ] || exit $$status

check:  ## what CI runs: every check below that a change must pass, then all tests; prints where the time goes
	@.ci/run

rules: deps  ## formatting, layering, long functions and large classes, words, what wide headers rebuild, versions, subjects of commits: seconds
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 --dry-run --Werror
	@for rule in layering console_layers shapes words; do \
	  /usr/bin/python3 tests/layering/$$rule.py --self-test && /usr/bin/python3 tests/layering/$$rule.py . || exit 1; done
	@/usr/bin/python3 tests/lint/rebuild_shares.py --self-test && /usr/bin/python3 tests/lint/rebuild_shares.py . --build $(BUILD)
	@/usr/bin/python3 tests/lint/versions.py --self-test && /usr/bin/python3 tests/lint/versions.py .
	@/usr/bin/python3 tests/lint/commits.py --self-test && /usr/bin/python3 tests/lint/commits.py .

mutants: deps  ## plant small bugs in FOLDER (fabric/health) and count those that its unit tests see (SAMPLE=40 SEED=1 TESTS=unit_health)
	@$(MAKE) --no-print-directory build TARGETS=$(or $(TESTS),unit_$(notdir $(or $(FOLDER),fabric/health)))
	@/usr/bin/python3 tests/lint/mutants.py $(BUILD) $(or $(FOLDER),fabric/health) --sample $(or $(SAMPLE),40) --seed $(or $(SEED),1) \
	  $(if $(TESTS),--tests $(TESTS)) $(if $(AT_LEAST),--at-least $(AT_LEAST))

hygiene: deps  ## compile every source alone, with clang: no unity batches, no precompiled headers (PARTS=3: one in three)
	@$(MAKE) --no-print-directory configure PRESET=tidy
	@cmake build/tidy > /dev/null
	@/usr/bin/python3 tests/layering/alone.py build/tidy --parts $(or $(PARTS),1)

lint: deps  ## linters of Python, shell, TypeScript and Go, which it installs below ~/.cache/railweave: seconds
	@tests/lint/lint.sh

tidy: rules hygiene lint  ## rules, hygiene, linters, clang-tidy over everything (FILES=regex for some)
	@run-clang-tidy-19 -quiet -p build/tidy -j $(JOBS) '$(CURDIR)/$(or $(FILES),(fabric|scheduler|db|api|services)/)'

tidy-changed: deps  ## clang-tidy over the files that the last 20 commits changed, for at most TIDY_SECONDS (120)
	@$(MAKE) --no-print-directory configure PRESET=tidy
	@cmake build/tidy > /dev/null
	@/usr/bin/python3 tests/layering/tidy_changed.py build/tidy --commits 20 --seconds $(or $(TIDY_SECONDS),120)

format: deps  ## rewrite the sources as clang-format wants them
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

sanitize: deps  ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory test PRESET=debug

sanitize-sample: deps  ## a third of the unit tests under AddressSanitizer and UBSan, chosen by the commit (PARTS=1: all; WITHIN=600: seconds)
	@$(MAKE) --no-print-directory configure PRESET=debug
	@tests/sampled.sh debug unit $(or $(PARTS),3) $(or $(WITHIN),86400)

sanitize-service: deps  ## the service under AddressSanitizer and UBSan, through its whole contract (PARTS=6: a sixth of its cases)
	@$(MAKE) --no-print-directory build PRESET=debug TARGETS="railweaved contract_live_service"
	@/usr/bin/python3 tests/contract/contract_test.py build/debug/bin/railweaved \
	  build/debug/tests/contract/live_service/contract_live_service api/openapi.yaml \
	  $(if $(PARTS),--only "$$(tests/sample.sh $(PARTS) contract | xargs | tr ' ' ',')")

simulate: deps  ## the whole control plane on simulated time, store and fabric (SEEDS=10000; SEED=17 TRACE=1 tells one)
	@$(MAKE) --no-print-directory build TARGETS=simulation
	@RAILWEAVE_SEED=$(SEED) RAILWEAVE_SEEDS=$(SEEDS) RAILWEAVE_TRACE=$(TRACE) \
	  $(BUILD)/tests/simulation/simulation --gtest_brief=1 --gtest_filter='Seeds/*'

tsan: deps  ## the threaded tests under ThreadSanitizer (PARTS=3: a third of their programs; WITHIN=600: seconds)
	@$(MAKE) --no-print-directory configure PRESET=tsan
	@tests/sampled.sh tsan threads $(or $(PARTS),1) $(or $(WITHIN),86400) -L threads

fuzz: deps  ## every fuzz target for FUZZ_SECONDS (60) with sanitizers (PARTS=3: a third of them)
	@targets="$$(tests/sample.sh $(or $(PARTS),1) fuzz | xargs)" \
	  && $(MAKE) --no-print-directory build PRESET=fuzz TARGETS="$$targets" \
	  && tests/fuzz/run.sh build/fuzz $${FUZZ_SECONDS:-60} $$targets

clean:  ## remove what was built and the demo's state
	rm -rf build var bench-results
