"""The locks, pyproject.toml, environment.yml and the Makefile ask for one and the same environment."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
MODEL_LOCK = ROOT / "attention_lib" / "model.lock"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
LOCKS = {
    name: [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    for name in ("requirements.lock", "website/requirements.lock")
}
PINS = {canonicalize_name(pin.name): pin for pin in map(Requirement, LOCKS["requirements.lock"])}
PIN = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [^/@]+)?")
TORCHS_OWN = ("cuda-", "nvidia-")  # pip takes those that the pinned torch asks for
CONDA_NAMES = {"bleach": "bleach-with-css", "jupyter-core": "jupyter_core"}  # others are PyPI's


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_has_plain_pins_in_order_and_names_no_place(lock):
    assert [line for line in LOCKS[lock] if not PIN.fullmatch(line) or "://" in line] == []
    names = [line.partition("==")[0] for line in LOCKS[lock]]
    assert names == sorted(names)


def test_tests_run_in_the_locked_environment():
    here = {name: pin for name, pin in PINS.items() if not pin.marker or pin.marker.evaluate()}
    assert {
        name: metadata.version(name)
        for name, pin in here.items()
        if Version(metadata.version(name)).public not in pin.specifier
    } == {}
    needed = {
        canonicalize_name(requirement.name)
        for name in here
        for requirement in map(Requirement, metadata.requires(name) or [])
        if not requirement.marker or requirement.marker.evaluate({"extra": ""})
    }
    assert {name for name in needed - here.keys() if not name.startswith(TORCHS_OWN)} == set()


@pytest.mark.slow
def test_installed_packages_have_what_they_need():
    check = [sys.executable, "-m", "pip", "check"]
    result = subprocess.run(check, capture_output=True, text=True)
    # What the language model needs is installed without what those packages ask for besides.
    of_the_model = re.findall(r"^[\w-]+(?===)", MODEL_LOCK.read_text("utf-8"), re.M)
    complaints = [line for line in result.stdout.splitlines() if "which is not installed" in line]
    others = [line for line in complaints if line.partition(" ")[0] not in of_the_model]
    assert others == []
    assert result.returncode == 0 or complaints, result.stdout


def test_torch_is_the_same_exact_release_everywhere():
    assert EXTRAS["torch"] == [str(PINS["torch"])]
    for place in ("docs/install.md", "attention_lib/lessons/gpu/__init__.py"):
        text = (ROOT / place).read_text(encoding="utf-8")
        assert re.findall(r"torch==[\d.]+", text) == EXTRAS["torch"], place


def test_uv_keeps_the_build_of_torch_that_pip_chose():
    """Another build of it would be several gigabytes, from places that pip's settings do not name."""
    uv = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--dry-run"]
    result = subprocess.run(
        [*uv, "--python", sys.executable, *EXTRAS["torch"]], capture_output=True, text=True
    )
    assert "Would make no changes" in result.stderr


def test_conda_makes_the_environment_of_the_whole_course():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert conda["channels"] == ["conda-forge"]
    *packages, by_pip = conda["dependencies"]
    extras = (*EXTRAS["grading"], *EXTRAS["classroom"])
    wanted = [Requirement(text) for text in (*PYPROJECT["project"]["dependencies"], *extras)]
    versions = {CONDA_NAMES.get(one.name, one.name): one.specifier for one in wanted}
    asked = {one.name: one.specifier for one in map(Requirement, packages)}
    assert asked.keys() - versions.keys() == {"python", "pip", "pytorch"}
    assert asked == {**asked, **versions}
    assert by_pip == {"pip": ["-e ."]}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("stamps", "command", "installed"),
    [
        ([], "lab", "."),
        ([], "lab TORCH=1", ".[torch]"),
        (["-learn"], "lab", None),
        (["-learn"], "lab TORCH=1", ".[torch]"),
        (["-learn-torch"], "lab", None),
        (["-class"], "lab", None),
        ([""], "lab TORCH=1", None),
        (["-learn-torch"], "grade LESSON=01_softmax", ".[grading,classroom]"),
        ([], "grade LESSON=10_gpu", ".[torch,grading,classroom]"),
        (["-class"], "grade LESSON=10", ".[torch,grading,classroom]"),
        (["-class"], "release", None),
        (["-class-gpu"], "collect LESSON=01_softmax", None),
        ([""], "report LESSON=10_gpu", None),
        ([], "check EXERCISE=softmax", "."),
    ],
)
def test_make_installs_what_a_command_needs_once_and_no_more(tmp_path, stamps, command, installed):
    for name in ("Makefile", "pyproject.toml", *LOCKS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".venv").mkdir()
    for stamp in stamps:
        (tmp_path / ".venv" / f".installed{stamp}").touch()
    dry_run = subprocess.run(
        ["make", "-n", *command.split()], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    installs = re.findall(r'-m (uv|pip) .*?--editable "?([^" ]+)', dry_run.stdout)
    assert installs == ([] if installed is None else [("uv", installed), ("pip", installed)])
    parts = (
        f"{installed} torch grading"
        if " -r requirements.lock" in dry_run.stdout
        else f"{installed}"
    )
    assert (" -m compileall " in dry_run.stdout) == ("grading" in parts)  # the sandbox keeps none
    assert len(re.findall("-m pip install .* torch ", dry_run.stdout)) == ("torch" in parts)


@pytest.fixture
def course(tmp_path):
    """A course's folder, with a space in its name, in which nothing is installed."""
    folder = tmp_path / "a course"
    (folder / "website").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", *LOCKS):
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def said_by_make(folder, *arguments):
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    result = subprocess.run(
        ["make", "lab", *arguments], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert result.returncode != 0
    return result.stderr.splitlines()[0]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
class TestWhatIsMissing:
    def test_no_python(self, course):
        said = said_by_make(course, "PYTHON=python9.9")
        assert said.startswith("There is no python9.9 here: install Python 3.11 or newer")

    @pytest.mark.parametrize(
        ("failing", "sentence"),
        [
            ("version_info", "This course needs Python 3.11 or newer"),
            ("ensurepip", "install its venv module"),
        ],
    )
    def test_python_that_cannot_be_used(self, course, failing, sentence):
        python = course / "python"
        python.write_text(f'#!/bin/sh\ncase "$2" in *{failing}*) exit 1;; esac\n')
        python.chmod(0o755)
        assert sentence in said_by_make(course, f"PYTHON={python}")
        assert not (course / ".venv").exists()

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to every folder"
    )
    def test_folder_that_is_read_only(self, course):
        course.chmod(0o555)
        assert said_by_make(course).startswith("This folder cannot be written to")

    @pytest.mark.slow
    def test_no_connection(self, course):
        python = course / "a folder" / "python"  # make writes a space as "\\ "
        python.parent.mkdir()
        python.symlink_to(sys.executable)
        said = said_by_make(course, "MODEL=1", f"PYTHON={python}")
        assert said.startswith("The download failed. Is there a connection?")
        shown = str(python).replace(" ", "\\ ")
        assert "Run `make lab " in said
        assert f"PYTHON={shown}" in said
        assert "MODEL=1" in said


def test_container_sets_up_what_make_lab_does():
    path = ROOT / ".devcontainer" / "devcontainer.json"
    command = json.loads(path.read_text(encoding="utf-8"))["postCreateCommand"]
    assert command == "make .venv/.installed-learn"


@pytest.mark.xdist_group("grouped")
def test_a_group_of_tests_stays_with_one_worker(request):
    """pytest-xdist puts the group into the test's name; where it fails to, nothing else shows it."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("these tests run in one process, or are not distributed by group")
    assert request.node.nodeid.endswith("@grouped")
