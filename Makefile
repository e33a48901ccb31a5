# Two commands are enough on a fresh machine: `make run` starts the dashboard, `make test` runs all tests.
# Both make the environment in .venv first, once per change of the requirements.

PORT ?= 8501
PYTHON := .venv/bin/python
digest = $(shell cat $(1) | cksum | cut -d ' ' -f 1)
RUN_READY := .venv/ready-run-$(call digest,requirements.txt)
TEST_READY := .venv/ready-test-$(call digest,requirements.txt requirements-sign-in.txt requirements-dev.txt)

.PHONY: run test lint bench bench-peers bench-ui load soak replicas accuracy readme fuzz audit

run: $(RUN_READY)
	.venv/bin/streamlit run app.py --server.port $(PORT)

test: $(TEST_READY)
	.ci/environment chromium
	$(PYTHON) -m pytest

lint: $(TEST_READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

bench: $(TEST_READY)
	$(PYTHON) -m bench.evaluate
	$(PYTHON) -m bench.scores
	$(PYTHON) -m bench.money

# Other packages asked the same questions, each installed into .peers/ once: it needs the network the first time. All on
# one thread: several would wait for each other on the processor time that is measured.
bench-peers: $(TEST_READY)
	OPENBLAS_NUM_THREADS=1 $(PYTHON) -m bench.peers

bench-ui: $(TEST_READY)
	.ci/environment chromium
	$(PYTHON) -m bench.ui

load: $(TEST_READY)
	$(PYTHON) -m bench.load
	$(PYTHON) -m bench.load --processes 2

soak: $(TEST_READY)
	$(PYTHON) -m bench.load soak

replicas: $(TEST_READY)
	.ci/environment chromium
	.ci/environment proxy
	$(PYTHON) -m pytest -v -m replicas

accuracy: $(TEST_READY)
	$(PYTHON) -m fit.accuracy

readme: $(RUN_READY)
	$(PYTHON) -m docs.examples
	$(PYTHON) -m docs.map

# Known weaknesses of what is installed to run it, and a list of all its parts (CycloneDX) in .audit/sbom.json. What could
# not be asked about is no passed audit: it needs the network.
audit: $(RUN_READY)
	$(PYTHON) -m venv .audit/tools
	.audit/tools/bin/python -m pip install --quiet -r requirements-audit.txt
	$(PYTHON) -m venv .audit/run
	.audit/run/bin/python -m pip install --quiet -r requirements.txt
	.audit/tools/bin/cyclonedx-py environment .audit/run/bin/python --output-reproducible --output-file .audit/sbom.json
	@rm -f .audit/weaknesses.txt
	@.audit/tools/bin/pip-audit --strict --progress-spinner off --output .audit/weaknesses.txt \
		--path "$$(.audit/run/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		|| { cat .audit/weaknesses.txt 2>/dev/null || echo "Not audited, and so not passed: the PyPI vulnerability service" \
		"could not be asked about every part (see above). The parts are listed in .audit/sbom.json; try again with a network."; \
		exit 1; }

# Hostile input, searched by coverage: make fuzz MINUTES=10 SEED=7 INPUTS=100000 TARGETS="link sheet"
MINUTES ?= 1
SEED ?= 1
INPUTS ?= -1
fuzz: $(TEST_READY)
	$(PYTHON) -m fuzz $(TARGETS) --minutes $(MINUTES) --seed $(SEED) --inputs $(INPUTS)

$(RUN_READY):
	.ci/environment packages requirements.txt
	touch $@

$(TEST_READY):
	.ci/environment packages requirements-dev.txt
	touch $@
