"""pyproject.toml, the two locks and environment.yml ask for one and the same environment."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.learner_code import LEARNER_CODE

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
SITE_LOCK = (ROOT / "website" / "requirements.lock").read_text()
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())

PIN = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [^/@]+)?")
TORCHS_OWN = ("cuda-", "nvidia-")  # pip takes those that the pinned torch asks for
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}
# What the packages need that are installed on some systems or Pythons only.
ELSEWHERE = {
    "appnope": [],
    "colorama": [],
    "importlib-metadata": ["lazy-importer>=0.1", "zipp>=3.20"],
    "lazy-importer": [],
    "overrides": [],
    "pexpect": [],
    "ptyprocess": [],
    "pywinpty": [],
    "triton": [],
    "zipp": [],
}


def environment(system: str, python: str) -> dict[str, str]:
    """Return what environment markers see there."""
    return {**SYSTEMS[system], "python_version": python, "python_full_version": f"{python}.0"}


def wanted(pyproject: dict, site: bool = False) -> list[Requirement]:
    """Return all that pyproject.toml asks for, the build system included, and the site if said."""
    project = pyproject["project"]
    extras = {**project["optional-dependencies"]}
    if not site:
        del extras["site"]
    lists = [pyproject["build-system"]["requires"], project["dependencies"], *extras.values()]
    return [Requirement(text) for requirements in lists for text in requirements]


def pins(lock: str) -> list[Requirement]:
    """Return the requirements of a lock file."""
    return [Requirement(line) for line in lines(lock)]


def lines(lock: str) -> list[str]:
    return [line for line in lock.splitlines() if line and not line.startswith("#")]


def not_plain_pins(lock: str) -> list[str]:
    """Return the lines that are not ``name==version``, perhaps with a marker, in order."""
    found = lines(lock)
    names = [line.partition("==")[0] for line in found]
    return [
        line
        for i, line in enumerate(found)
        if not PIN.fullmatch(line) or "://" in line or (i and names[i] < names[i - 1])
    ] + [line for line in lock.splitlines() if line.startswith("#") and "://" in line]


def disagreements(
    wanted: Iterable[Requirement],
    pins: Iterable[Requirement],
    requires: Callable[[str], list[str]],
    environment: dict[str, str],
) -> list[str]:
    """Return where the pins differ from what is wanted and all that this needs, there."""
    pinned: dict[str, str] = {}
    problems = []
    for pin in pins:
        if pin.marker is None or pin.marker.evaluate(environment):
            name = canonicalize_name(pin.name)
            if name in pinned:
                problems.append(f"{name} is pinned twice")
            pinned[name] = next(iter(pin.specifier)).version
    seen: set[tuple[str, str]] = set()
    todo = [(requirement, "", "the project") for requirement in wanted]
    while todo:
        requirement, extra, parent = todo.pop()
        name = canonicalize_name(requirement.name)
        holds = requirement.marker is None or requirement.marker.evaluate(
            {**environment, "extra": extra}
        )
        if not holds or name.startswith(TORCHS_OWN):
            continue
        if name not in pinned:
            problems.append(f"{name}, which {parent} needs, is not pinned")
        elif not requirement.specifier.contains(pinned[name], prereleases=True):
            problems.append(
                f"{name}=={pinned[name]} is pinned, but {parent} needs {requirement.specifier}"
            )
        for its_extra in {"", *requirement.extras}:
            if (name, its_extra) not in seen:
                seen.add((name, its_extra))
                todo += [(Requirement(text), its_extra, name) for text in requires(name)]
    needed = {name for name, _ in seen}
    problems += [f"{name} is pinned, but nothing needs it" for name in pinned.keys() - needed]
    return sorted(problems)


@cache
def installed_requires(name: str) -> list[str]:
    """Return what an installed package says it needs."""
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        assert name in ELSEWHERE, f"{name} is not installed: what it needs is not known"
        return ELSEWHERE[name]


def conda_problems(conda: dict, pyproject: dict) -> list[str]:
    """Return where environment.yml does not give the locked environment."""
    problems = []
    if conda["name"] != pyproject["project"]["name"]:
        problems.append("the environment is not named after the project")
    if conda["channels"] != ["conda-forge"]:
        problems.append("the channel is not conda-forge alone")
    packages = [part for part in conda["dependencies"] if isinstance(part, str)]
    pip_lists = [part["pip"] for part in conda["dependencies"] if isinstance(part, dict)]
    if pip_lists != [["-c requirements.lock", "-e ."]]:
        problems.append("pip does not install the project in the versions of the lock, and no more")
    names = [re.split("[ =<>]", package)[0] for package in packages]
    if names != ["python", "pip"]:
        problems.append("conda installs something other than python and pip")
    python = packages[0].partition("=")[2]
    allowed = SpecifierSet(pyproject["project"]["requires-python"])
    if python not in PYTHONS or f"{python}.0" not in allowed:
        problems.append(f"python {python} is not one the project allows and the lock is made for")
    return problems


@pytest.mark.parametrize("lock", [LOCK, SITE_LOCK], ids=["course", "site"])
def test_the_lock_is_readable_by_plain_pip_and_names_no_place(lock):
    assert not_plain_pins(lock) == []


@pytest.mark.parametrize(
    "line",
    [
        "numpy>=2",
        "numpy",
        "torch==2.13.0+cpu",
        "-e /home/someone/course",
        "--extra-index-url https://example.org/simple",
        "numpy @ file:///home/someone/numpy.whl",
        "# from https://example.org",
        "numpy==2.4.6 --hash=sha256:00",
        "aaa==1.0",  # out of order
    ],
)
def test_a_line_that_is_more_than_a_pin_is_noticed(line):
    assert not_plain_pins(f"mpmath==1.3.0\n{line}\nzzz==1\n") == [line]


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_lock_pins_what_is_needed_and_nothing_else(system, python):
    problems = disagreements(
        wanted(PYPROJECT), pins(LOCK), installed_requires, environment(system, python)
    )
    assert problems == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_both_locks_pin_what_the_site_needs_and_nothing_else(system, python):
    pytest.importorskip("sphinx", reason="make site has not installed what it needs")
    problems = disagreements(
        wanted(PYPROJECT, site=True),
        pins(f"{LOCK}\n{SITE_LOCK}"),
        installed_requires,
        environment(system, python),
    )
    assert problems == []


@pytest.mark.parametrize(
    ("lock", "problem"),
    [
        ("a==1.0\nb==2.0", []),
        ("a==1.0", ["b, which a needs, is not pinned"]),
        ("a==1.0\nb==1.9", ["b==1.9 is pinned, but a needs >=2"]),
        ("a==0.9\nb==2.0", ["a==0.9 is pinned, but the project needs >=1"]),
        ("a==1.0\nb==2.0\nc==1.0", ["c is pinned, but nothing needs it"]),
        ("a==1.0\nb==2.0\nb==2.1", ["b is pinned twice"]),
        (
            'a==1.0\nb==2.0 ; sys_platform == "win32"',
            ["b, which a needs, is not pinned"],
        ),
        ('a==1.0\nb==2.0\nc==1.0 ; sys_platform == "win32"', []),
    ],
)
def test_a_lock_out_of_step_is_noticed(lock, problem):
    needs = {"a": ["b>=2", 'c; sys_platform == "win32"', 'd; extra == "more"'], "b": [], "c": []}
    found = disagreements(
        [Requirement("a>=1")], pins(lock), needs.__getitem__, environment("linux", "3.12")
    )
    assert found == problem


def test_uv_takes_the_versions_of_both_locks():
    assert PYPROJECT["tool"]["uv"]["constraint-dependencies"] == lines(LOCK) + lines(SITE_LOCK)


def test_extras_that_are_asked_for_are_followed():
    needs = {"a": ['d; extra == "more"'], "d": []}
    found = disagreements(
        [Requirement("a[more]")], pins("a==1.0"), needs.__getitem__, environment("macos", "3.13")
    )
    assert found == ["d, which a needs, is not pinned"]


def test_torch_is_the_same_exact_release_everywhere():
    (asked,) = (r for r in wanted(PYPROJECT) if r.name == "torch")
    (pinned,) = (r for r in pins(LOCK) if r.name == "torch")
    assert str(asked) == str(pinned) == "torch==2.13.0"
    named = re.findall(r"torch==[\d.]+", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"))
    assert named == [str(pinned)]


def test_the_tests_run_in_the_locked_environment():
    here = [pin for pin in pins(LOCK) if pin.marker is None or pin.marker.evaluate()]
    different = {
        pin.name: metadata.version(pin.name)
        for pin in here
        if Version(metadata.version(pin.name)).public not in pin.specifier
    }
    assert different == {}


def test_every_locked_package_runs_on_every_python_of_the_course():
    floor = SpecifierSet(PYPROJECT["project"]["requires-python"])
    assert "3.11.0" in floor
    assert "3.10.9" not in floor
    too_new = [
        f"{pin.name} on {python}.0"
        for pin in pins(LOCK)
        if pin.name not in ELSEWHERE
        for python in PYTHONS
        if f"{python}.0" not in SpecifierSet(metadata.metadata(pin.name).get("Requires-Python", ""))
    ]
    assert too_new == []


def test_workflow_runs_the_oldest_and_newest_python_once_a_fork_switches_it_on():
    path = ROOT / ".github" / "workflows" / "tests.yml"
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["locked"]["strategy"]["matrix"]
    assert matrix["python"] == [PYTHONS[0], PYTHONS[-1]]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    extras = Requirement(f"course{workflow['env']['PACKAGE'].removeprefix('.')}").extras
    assert extras == PYPROJECT["project"]["optional-dependencies"].keys() - {"site"}
    for job in workflow["jobs"].values():
        assert "workflow_dispatch" in job["if"]
        assert "vars.WEEKLY_TESTS" in job["if"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("stamps", "asked", "installed"),
    [
        ([], [], "--editable ."),
        ([], ["TORCH=1"], "--editable .[torch]"),
        ([], ["TRITON=1"], "--editable .[torch,triton]"),
        (["-learn"], [], None),
        (["-learn"], ["TORCH=1"], "--editable .[torch]"),
        (["-learn-torch"], [], None),
        (["-learn-torch"], ["TRITON=1"], "--editable .[torch,triton]"),
        (["-learn-triton"], ["TORCH=1"], None),
        ([""], ["TRITON=1"], None),
    ],
)
def test_make_lab_installs_what_is_asked_for_once_and_no_more(tmp_path, stamps, asked, installed):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".venv").mkdir()
    for stamp in stamps:
        (tmp_path / ".venv" / f".installed{stamp}").touch()
    dry_run = subprocess.run(
        ["make", "-n", "lab", *asked], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    commands = dry_run.stdout.replace('"', "").splitlines()
    installs = [line.partition("--editable")[2] for line in commands if "--editable" in line]
    assert installs == ([] if installed is None else [installed.removeprefix("--editable")])


def test_container_sets_up_what_make_lab_does():
    path = ROOT / ".devcontainer" / "devcontainer.json"
    stamp = json.loads(path.read_text(encoding="utf-8"))["postCreateCommand"].removeprefix("make ")
    assert f"LEARN_READY := {stamp}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_conda_users_get_the_locked_environment():
    assert conda_problems(CONDA, PYPROJECT) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "base"),
        ("channels", ["conda-forge", "defaults"]),
        ("channels", ["https://example.org/conda"]),
        ("dependencies", ["python=3.10", *CONDA["dependencies"][1:]]),
        ("dependencies", ["python", *CONDA["dependencies"][1:]]),
        ("dependencies", ["python=3.13", "pip", "numpy", CONDA["dependencies"][-1]]),
        ("dependencies", ["python=3.13", "pip", {"pip": ["-e ."]}]),
        ("dependencies", ["python=3.13", "pip"]),
    ],
)
def test_a_conda_environment_out_of_step_is_noticed(key, value):
    assert len(conda_problems({**CONDA, key: value}, PYPROJECT)) == 1


LIBRARY = [*(ROOT / "attention_lib").rglob("*.py"), ROOT / "nbgrader_config.py"]
WHOLE = ["torch", "triton", "grading", "classroom"]
WEBSITE = [*(ROOT / "website").rglob("*.py")]
TESTS = [
    ROOT / "conftest.py",
    *(ROOT / "tests").rglob("*.py"),
    *(ROOT / "benchmarks").rglob("*.py"),
]
NOT_INSTALLED = ("sklearn", "their_lib")  # what tests make up, and what an answer may try to use


def undeclared(
    path: Path, declared: set[str], distributions: Mapping[str, list[str]]
) -> Iterable[str]:
    """Name the packages that a module imports and none of the declared distributions holds."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported = [node.module]
        for name in imported:
            package = name.partition(".")[0]
            if package in sys.stdlib_module_names or package in NOT_INSTALLED:
                continue
            if (ROOT / package).is_dir():  # this repository's own
                continue
            holders = {
                canonicalize_name(holder) for holder in distributions.get(package, [package])
            }
            if not holders & declared:
                names = " or ".join(sorted(holders))
                yield f"{path.name} imports {package}: declare {names} in pyproject.toml"


@cache
def installed_packages() -> dict[str, list[str]]:
    """Return the names of the distributions that each package comes from."""
    return {**metadata.packages_distributions(), "triton": ["triton"]}


def declared_names(*lists: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for texts in lists for text in texts}


@pytest.mark.parametrize(
    ("files", "extras"),
    [
        (LEARNER_CODE, ["torch"]),  # imported where a tensor is met
        (LIBRARY, WHOLE),
        (WEBSITE, ["grading", "site"]),
        (TESTS, [*WHOLE, "test"]),
    ],
)
def test_every_package_that_is_imported_is_declared(files, extras):
    project = PYPROJECT["project"]
    optional = [project["optional-dependencies"][extra] for extra in extras]
    declared = declared_names(project["dependencies"], *optional)
    problems = {one for path in files for one in undeclared(path, declared, installed_packages())}
    assert sorted(problems) == []


def test_an_import_that_is_not_declared_is_noticed(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        "import os, numpy.linalg\nfrom . import near\nfrom yaml import load\n"
        "def later():\n    import bs4\n"
    )
    distributions = {"numpy": ["numpy"], "yaml": ["PyYAML"], "bs4": ["beautifulsoup4"]}
    assert list(undeclared(module, {"numpy", "beautifulsoup4"}, distributions)) == [
        "module.py imports yaml: declare pyyaml in pyproject.toml"
    ]


@pytest.mark.xdist_group("grouped")
def test_a_group_of_tests_stays_with_one_worker(request):
    """pytest-xdist puts the group into the test's name; where it fails to, nothing else shows it."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("these tests run in one process, or are not distributed by group")
    assert request.node.nodeid.endswith("@grouped")
