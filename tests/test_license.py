"""Everything that names the licenses or the version names the same ones."""

import tomllib
from pathlib import Path

import nbformat
import yaml

from attention_lib.grading.lesson.markdown import LICENSE_LINE
from attention_lib.lessons import LESSONS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_citation_agrees_with_the_package():
    assert CITATION["cff-version"] == "1.2.0"
    assert " AND ".join(CITATION["license"]) == PROJECT["license"]
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["authors"] == PROJECT["authors"]


def test_license_files_are_the_licenses():
    code, text = ((ROOT / name).read_text(encoding="utf-8") for name in PROJECT["license-files"])
    assert code.startswith("BSD 3-Clause License")
    assert text.startswith("Creative Commons Attribution 4.0 International")
    for part in (code, (ROOT / "README.md").read_text(encoding="utf-8"), LICENSE_LINE):
        assert "Attention Course contributors" in part


def test_every_notebook_ends_with_the_licenses():
    for lesson in LESSONS:
        path = ROOT / "notebooks" / lesson / f"{lesson}.ipynb"
        assert nbformat.read(path, as_version=4).cells[-1].source == LICENSE_LINE
