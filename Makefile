# Every command sets up what it needs first: .venv, with the exact versions of requirements.lock.
# `make lab` installs what learning needs, and all other commands the whole of it.
# Choose the Python it is made from with, for example, `make PYTHON=python3.12 lab`.

PYTHON ?= python3
LAB_FLAGS ?=
TEST_FLAGS ?=

VENV_PYTHON := .venv/bin/python
READY := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help lab check quick test style release edition site collect grade report grades feedback bench

help: ## show these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 14

# What `make lab` makes sure of: the whole if it is there, or else as much as was ever asked for.
LEARN_READY := .venv/.installed-learn
LAB_READY := $(firstword $(wildcard $(READY)) $(if $(TRITON),$(LEARN_READY)-triton) \
    $(wildcard $(LEARN_READY)-triton) $(if $(TORCH),$(LEARN_READY)-torch) \
    $(wildcard $(LEARN_READY)-torch) $(LEARN_READY))

lab: $(LAB_READY) ## go on with the lessons in JupyterLab, in learn/; TORCH=1 adds PyTorch
	@$(VENV_PYTHON) -m attention_lib.learn $(LAB_FLAGS)

# Two workers, with one BLAS thread each, share the two cores of a small machine. The tests start a
# hundred processes, each of which would compile the course again if its bytecode were not kept.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(VENV_PYTHON) -m pytest
IN_PARALLEL := --dist loadgroup --no-loadscope-reorder -n 2

check: $(READY) ## test one exercise: make check EXERCISE=entropy
	@test -n "$(EXERCISE)" || { echo "Which exercise? For example: make check EXERCISE=entropy"; exit 2; }
	@$(PYTEST) -q --tb=short --maxfail=3 --exercise "$(EXERCISE)" $(TEST_FLAGS)

quick: $(READY) style ## check the style and run the tests that take little time
	@$(PYTEST) $(IN_PARALLEL) -m "not (browser or hostile or batch or slow)" \
	    --hypothesis-profile=quick $(TEST_FLAGS)

test: $(READY) style ## check the style and run every test
	@$(PYTEST) $(IN_PARALLEL) $(TEST_FLAGS)

style: $(READY)
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m mypy

# The commands for a class are about classroom/, or with CLASS=name about the class in
# classroom-name/. Programs that they start read the name from NBGRADER_CLASS.
export NBGRADER_CLASS := $(or $(CLASS),$(NBGRADER_CLASS))

# LESSON: only this one. CHANGED_POINTS=1: also with other points for what was handed in; marks given
# by hand stay. CHANGED_EXERCISES=1: also with exercises added or removed. OVERWRITE=1: also over a
# notebook that was edited in classroom/source/.
release: $(READY) ## make notebooks/ and nbgrader's source folder from solutions/
	@$(VENV_PYTHON) -m attention_lib.grading.release $(LESSON) \
	    $(if $(CHANGED_POINTS),--changed-points) \
	    $(if $(CHANGED_EXERCISES),--changed-exercises) $(if $(OVERWRITE),--overwrite)

# LESSON: the last that the class has. FROM: the first whose notebook is in it, 01_softmax if not
# said. OVER: lessons whose answers may be seen, such as 01_softmax,02_stability:2026-12-01, each at
# once or from a day on. OUT: the folder to make.
edition: $(READY) ## make a class's package, without answers: make edition LESSON=03_scaling
	@test -n "$(LESSON)" || { echo "Up to which lesson? For example: make edition LESSON=03_scaling"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.edition "$(LESSON)" $(if $(FROM),--from "$(FROM)") \
	    $(if $(OVER),--over "$(OVER)") $(if $(OUT),--target "$(OUT)")

SITE_READY := .venv/.installed-site

site: $(SITE_READY) ## make the lessons as web pages in build/site
	@$(VENV_PYTHON) -m website

# FROM: what Moodle or Canvas exported for the lesson, a zip archive or a folder. AGAIN=1: where
# another notebook was collected before, set that aside.
collect: $(READY) ## sort what was handed in: make collect LESSON=01_softmax FROM=export.zip
	@test -n "$(LESSON)" || { echo "Which lesson? For example: make collect LESSON=01_softmax"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.collect "$(LESSON)" $(if $(FROM),--from "$(FROM)") \
	    $(if $(AGAIN),--again)

# JOBS: how many processes, one a core if not said. SCHEDULER: of a dask cluster, such as
# tls://host:8786, or with TRUST_NETWORK=1 one without a password. AGAIN=1: also what has not changed since it was graded.
grade: $(READY) ## grade what lies in classroom/submitted: make grade LESSON=01_softmax
	@test -n "$(LESSON)" || { echo "Which lesson? For example: make grade LESSON=01_softmax"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.grade "$(LESSON)" $(if $(JOBS),--jobs "$(JOBS)") \
	    $(if $(SCHEDULER),--scheduler "$(SCHEDULER)") $(if $(TRUST_NETWORK),--trust-network) \
	    $(if $(AGAIN),--again)

report: $(READY) ## say who is stuck on what: make report LESSON=01_softmax
	@test -n "$(LESSON)" || { echo "Which lesson? For example: make report LESSON=01_softmax"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.report "$(LESSON)"

# FORMAT: canvas or moodle.
grades: $(READY) ## write grades that an LMS imports: make grades FORMAT=canvas
	@test -n "$(FORMAT)" || { echo "For which LMS? For example: make grades FORMAT=canvas"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.export grades "$(FORMAT)"

# FROM: the export that was collected, whose names the LMS wants back.
feedback: $(READY) ## pack feedback for an LMS: make feedback LESSON=01_softmax FROM=export.zip
	@test -n "$(LESSON)" -a -n "$(FROM)" || { echo "Which lesson, and collected from what?" \
	    "For example: make feedback LESSON=01_softmax FROM=export.zip"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.export feedback "$(LESSON)" "$(FROM)"

bench: $(READY) ## measure accuracy and time beside SciPy and PyTorch
	@$(VENV_PYTHON) -m benchmarks

# The stamp is made last, so a set-up that was interrupted is done again: from nothing if it was
# the first, over the old one if it was an update.
define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "This course needs Python 3.11 or newer, and $(PYTHON) is not." \
	         "If you have one under another name, say so: make PYTHON=python3.12 lab" >&2; \
	    exit 1; }
	@echo "Setting up .venv; the first time this downloads $(1)."
	@ls .venv/.installed* >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
endef

$(LEARN_READY): EXTRAS :=
$(LEARN_READY)-torch: EXTRAS := [torch]
$(LEARN_READY)-triton: EXTRAS := [torch,triton]
$(LEARN_READY) $(LEARN_READY)-torch $(LEARN_READY)-triton: requirements.lock pyproject.toml
	$(call make_venv,about 150 megabytes$(if $(EXTRAS), and PyTorch))
	@$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check -c requirements.lock setuptools
	@$(VENV_PYTHON) -m pip install --disable-pip-version-check \
	    -c requirements.lock --no-build-isolation --editable ".$(EXTRAS)"
	@touch $@

$(READY): requirements.lock pyproject.toml
	$(call make_venv,a few hundred megabytes or more)
	@$(VENV_PYTHON) -m pip install --disable-pip-version-check -r requirements.lock
	@$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check \
	    --no-deps --no-build-isolation --editable .
	@touch $@

$(SITE_READY): website/requirements.lock $(READY)
	@$(VENV_PYTHON) -m pip install --disable-pip-version-check -c requirements.lock -r $<
	@touch $@
