# Everything a person or a machine does with this repository. A target that needs the environment makes it when missing.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?=
ARGS ?=
KILLS ?= 10
MUTANTS ?= 60
COMMITS ?= 1000
VERSIONS ?=
DAYS ?= 30
SEED ?=
SEEDS ?= 10000
SCHEDULES ?= 100000
VENV := .venv
# With what the service needs in it, and with what its tests and checks need.
RUN_TIME := $(VENV)/.run-time
STAMP := $(VENV)/.stamp
BIN := $(VENV)/bin
# uv takes a third of pip's time. It does not know pip's configuration: where only that leads to packages, pip installs.
# Python compiles what it imports when it does; all of it at once would be a third of pip's time.
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python
PIP := $(BIN)/python -m pip install --quiet --no-compile
install = $(UV) --require-hashes -r $(1) || $(PIP) --use-pep517 --require-hashes -r $(1)
PYTEST := $(BIN)/pytest
TRUST := $(addprefix tests/kafka/test_,secured_telemetry.py least_privilege.py secrets.py degradation.py upgrade.py)
CODE := streaming lab dashboards tests conf docs/hooks $(wildcard bench/*.py)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Images of Python set it; then each process compiles all that it imports anew, and each worker of pytest every test.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup java demo test test-unit test-search test-spark test-kafka test-alone test-long test-versions test-versions-long test-spark-versions test-trust test-scenarios test-cluster test-connect test-artefacts test-sql test-browser test-prometheus test-chart chaos chaos-apply simulate simulate-hand simulate-advice matrix record mutate soak log-store two-writers dashboards screenshots dist lint os-error-words audit sbom release format bench docs docs-release lock clean ci

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

setup: java $(STAMP) ## make .venv with the command and what tests need (needs Python 3.10+ and Java 17+)
	@echo "Ready: $(BIN)/logdirwatch --help"

$(RUN_TIME): requirements.lock pyproject.toml lab/pyproject.toml
	@python=$$(.ci/find-python $(PYTHON)) || exit 1; \
	$(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || rm -rf $(VENV); \
	[ -d $(VENV) ] || { echo "Making $(VENV) with $$python"; "$$python" -m venv $(VENV); }
	@echo "Installing the pinned requirements (a few minutes the first time)"
	@sed -n '/^uv==/,/[^\\]$$/p' requirements-dev.lock >$(VENV)/uv.lock && $(PIP) --require-hashes -r $(VENV)/uv.lock
	@$(call install,requirements.lock)
	@$(PIP) --no-build-isolation --no-deps -e . -e lab
	@touch $@

$(STAMP): $(RUN_TIME) requirements-dev.lock
	@echo "Installing what tests and checks need besides"
	@$(call install,requirements-dev.lock)
	@touch $@

java: ## a Java for what needs one, if the machine has none
	@.ci/check-java

demo: java $(RUN_TIME) ## start a real Kafka cluster here, break a disk, fill another, watch (ARGS="--once --json")
	@$(BIN)/logdirwatch-lab demo $(ARGS)

test: java $(STAMP) ## all three tiers, side by side where the memory allows it; a skipped test is a failure
	@.ci/lanes test-kafka "test-unit test-spark" && .ci/lanes test-alone

test-unit: $(STAMP) ## pure logic, no Java
	$(PYTEST) tests/unit -n 2 $(ARGS)

test-search: $(STAMP) ## the unit tier's properties with fifty times as many cases, other ones each time: every night
	$(PYTEST) -n 2 --hypothesis-profile=search $(ARGS) $$(git grep -l "from hypothesis import" tests/unit)

test-spark: java $(STAMP) ## queries and tables on a local Spark
	$(PYTEST) tests/spark -m "not long" -n 2 --dist loadfile $(ARGS)

test-kafka: java $(STAMP) ## real brokers with real, really full disks
	$(PYTEST) tests/kafka -m "not long and not alone" -n 2 $(ARGS)

test-alone: java $(STAMP) ## what two processors carry only with nothing beside it: the whole demo
	$(PYTEST) tests/kafka -m "not long and alone" $(ARGS)

test-long: java $(STAMP) ## what takes long: every rule of the tables, the demo with a part of it stopped, rare faults
	$(PYTEST) tests/spark -m long -n 2 --dist loadfile $(ARGS)
	$(PYTEST) tests/kafka -m long $(TRUST:%=--ignore=%) $(ARGS)
	$(PYTEST) $(TRUST) -m release $(ARGS)

test-versions: java $(STAMP) ## Kafka 2.8.2, 3.9.1 and 4.4.0, with ZooKeeper and in KRaft mode; those between in test-long (jars are downloaded once)
	$(PYTEST) tests/kafka/test_versions.py -m "long and not release" -n 2 $(ARGS)

test-versions-long: java $(STAMP) ## whole clusters of older Kafka under watch, repaired with their own tools; an upgrade, a migration to KRaft
	$(PYTEST) tests/versions -m "not release" $(ARGS)

matrix: java $(STAMP) ## the table of releases of Kafka: failed, filling and full directories, actions pasted and applied (ARGS="--release 2.8.2-zookeeper")
	$(BIN)/python -m tests.versions.matrix $(ARGS)

test-spark-versions: java $(STAMP) ## what touches Spark's API, with Spark 4.0 and 4.1 (VERSIONS="4.0.5"; downloads each once)
	@VERSIONS="$(VERSIONS)" .ci/spark-versions "$(abspath $(VENV))" $(ARGS)

test-trust: java $(STAMP) ## TLS, least privilege, secrets, what happens when something is away, the data of an earlier release
	$(PYTEST) $(TRUST) -m "long and not release" $(ARGS)

test-scenarios: java $(STAMP) ## the proposals' scenarios on one real cluster (PART=1 of four that take as long; MINUTES=30)
	$(PYTEST) tests/scenarios $(PART:%=--splits 4 --group % --durations-path tests/scenarios/durations.json) \
		$(MINUTES:%=--minutes %) $(BEGIN:%=--begin %) $(ARGS)

test-cluster: java $(STAMP) ## the stream by spark-submit on a standalone Spark cluster, a worker killed
	$(PYTEST) tests/cluster -m "not release" $(ARGS)

test-connect: java $(STAMP) ## the queries that raise alerts through a Spark Connect server, across a restart
	$(PYTEST) tests/cluster -m release $(ARGS)

test-artefacts: java $(STAMP) ## wheel, files of the image, chart and bundle: each installed alone, it tells of a broken disk (needs helm: .ci/helm)
	$(PYTEST) tests/artefacts $(ARGS)

test-sql: java $(STAMP) ## every panel's query in Spark and in a real Trino server
	$(PYTEST) tests/sql $(ARGS)

test-browser: $(STAMP) ## the console in a real Chromium, as a person uses it (TEST_CHROMIUM=/path/to/chromium)
	@.ci/program Chromium TEST_CHROMIUM chromium chromium-browser google-chrome
	$(PYTEST) tests/browser $(ARGS)

test-prometheus: $(STAMP) ## backtest, alerting rules and dashboards with a real Prometheus (TEST_PROMETHEUS=/path/to/prometheus)
	@.ci/program Prometheus TEST_PROMETHEUS prometheus
	$(PYTEST) tests/prometheus $(ARGS)

test-chart: $(STAMP) ## the Helm chart with a real helm: linted, rendered, held against the schemas of Kubernetes
	@.ci/helm
	$(PYTEST) tests/chart $(ARGS)

chaos: java $(STAMP) ## the stream killed again and again over a known history (KILLS=200 SEED=7)
	$(BIN)/python -m tests.chaos --kills $(KILLS) $(if $(SEED),--seed $(SEED)) $(ARGS)

chaos-apply: java $(STAMP) ## apply killed at drawn moments of executions of every kind on real brokers, and drawn schedules (KILLS=60 APPLY_SCHEDULES=40 SEED=7)
	$(BIN)/python -m tests.chaos_apply --kills $(or $(APPLY_KILLS),$(KILLS)) --schedules $(or $(APPLY_SCHEDULES),40) $(if $(APPLY_NAMED),--named "$(APPLY_NAMED)") $(if $(SEED),--seed $(SEED)) $(ARGS)

simulate: $(STAMP) ## the whole service on virtual clocks, its law checked throughout (SEEDS=10000 SEED=1)
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

simulate-hand: $(STAMP) ## executions against everybody else, generated (SCHEDULES=100000 WORLDS=8 SEED=1)
	$(BIN)/python -m tests.simulation.hand --schedules $(SCHEDULES) --worlds $(or $(WORLDS),0) $(if $(SEED),--seed $(SEED)) $(ARGS)

simulate-advice: $(STAMP) ## advice for small clusters, against everything that could be done (WORLDS=10000 SEED=1)
	$(BIN)/python -m tests.simulation.advice --worlds $(or $(WORLDS),10000) $(if $(SEED),--seed $(SEED)) $(ARGS)

record: $(STAMP) ## digests of what 5,000 histories and small worlds lead to; a change that keeps behavior keeps them (COUNT=5000 SEED=1)
	$(BIN)/python -m tests.simulation.record --count $(or $(COUNT),5000) $(if $(SEED),--seed $(SEED)) $(ARGS)

mutate: $(STAMP) ## plant defects in the judgement, count those that no unit test catches (MUTANTS=60 SEED=1 ONLY="notify store")
	$(BIN)/python -m tests.mutation --mutants $(MUTANTS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(ARGS)

soak: java $(STAMP) ## a month of a small fleet through the stream: what grows, what is left (DAYS=30)
	$(BIN)/python bench/bench_soak.py --days $(DAYS) $(ARGS)

log-store: java $(STAMP) ## compile the class by which Spark commits to tables, and write its jar (needs javac)
	$(BIN)/python -m tests.support.log_store_jar

os-error-words: $(STAMP) ## write the table of errors in the languages of glibc's catalogues (needs the package locales; LOCALES=/usr/share/locale)
	$(BIN)/python .ci/os-error-words $(or $(LOCALES),/usr/share/locale)

two-writers: java $(STAMP) ## two processes write one table and are killed, in a folder and in S3 (COMMITS=1000 KILLS=6)
	$(BIN)/python -m tests.two_writers --commits $(COMMITS) --kills $(KILLS) $(ARGS)
	$(BIN)/python -m tests.two_writers --commits $(COMMITS) --kills $(KILLS) --s3 $(ARGS)

dashboards: $(STAMP) ## write the JSON of the Grafana dashboards for Trino and Databricks (ARGS="--trino CATALOG.SCHEMA")
	$(BIN)/python -m dashboards $(ARGS)

screenshots: $(STAMP) ## write the pictures of the console in docs/images, with a Chromium that is here
	@.ci/program Chromium TEST_CHROMIUM chromium chromium-browser google-chrome
	$(BIN)/python -m tests.browser.screenshots docs/images

dist: $(STAMP) ## build the source distribution, and from it the wheel, into dist/, and check both (twine)
	rm -f dist/*.whl dist/*.tar.gz
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz

lint: docs ## ruff, formatting, mypy --strict, layers of imports, spelling, vocabulary, exposure of the systemd units, imports of all tests and benches, and the documentation build
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.11 --package dashboards
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/codespell
	$(BIN)/python .ci/vocabulary
	@.ci/units
	@# A test that imports a name which is gone fails here, not after the servers of its tier have started.
	$(PYTEST) --collect-only -qq tests/browser tests/chart tests/cluster tests/kafka tests/prometheus tests/scenarios tests/spark tests/sql tests/versions
	@cd bench && PYTHONPATH=.:.. $(abspath $(BIN))/python -c 'import importlib, pkgutil; [importlib.import_module(one.name) for one in pkgutil.iter_modules(["."])]'
	$(BIN)/pre-commit validate-config
	@export PRE_COMMIT_HOME=$(abspath $(VENV))/pre-commit SKIP=codespell,ruff-check,ruff-format,mypy; \
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

audit: $(STAMP) ## compare the pinned requirements with the database of known vulnerabilities (OSV)
	@.ci/audit $(BIN) $(ARGS)

sbom: $(STAMP) ## write dist/sbom.json, the bill of materials of what the service runs with (CycloneDX)
	@$(BIN)/python .ci/sbom $(BIN) dist/sbom.json

release: $(STAMP) ## check that version, changelog and tags agree (TAG=v0.2.0)
	@$(BIN)/python .ci/release $(TAG)

format: $(STAMP) ## let ruff format and mend the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(STAMP) ## build the documentation into site/; a warning is an error
	@# Without --quiet: it hides warnings from --strict as well, and a dead link would pass.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-release: $(STAMP) ## add this version's documentation to the branch gh-pages (VERSION=0.2.0 ARGS=--push)
	@.ci/docs-release "$(abspath $(BIN))" "$(VERSION)" $(ARGS)

bench: java $(STAMP) ## run every benchmark in bench/
	@for bench in bench/bench_*.py; do \
	  [ -f "$$bench" ] || { echo "bench/ holds no bench_*.py"; exit 1; }; \
	  echo "== $$bench"; $(BIN)/python "$$bench" $(ARGS) || exit 1; \
	done

ci: ## what the continuous integration does
	@.ci/run

lock: ## pin the requirements of pyproject.toml again, for running and for development (ARGS=--upgrade for newer ones)
	@.ci/lock $(ARGS)

clean: ## stop the local cluster and remove what the project made here, .venv included
	@[ ! -x $(BIN)/logdirwatch-lab ] || [ ! -d .logdirwatch ] || $(BIN)/logdirwatch-lab down
	rm -rf .logdirwatch site dist artifacts spark-warehouse metastore_db derby.log
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)
	find checkpoints -mindepth 1 ! -name README.md -delete
	find streaming lab dashboards tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} +
