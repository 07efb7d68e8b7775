"""Modules that the files of an edition import are in it."""

import pytest

from attention_lib.edition import making
from attention_lib.edition.imports import missing_modules
from attention_lib.lessons import LESSONS


def test_module_that_is_imported_and_missing_is_named_with_who_imports_it(tmp_path):
    package = tmp_path / "attention_lib"
    (package / "checks").mkdir(parents=True)
    (package / "checks" / "__init__.py").touch()
    (package / "record.py").touch()
    (package / "checks" / "one.py").write_text(
        "from attention_lib import record, standing\n"
        "from attention_lib.checks import panel\n"
        "LATER = {'check': 'attention_lib.commands'}\n"
        "from attention_lib.lessons.gpu import attention_flops\n"
        "def find():\n"
        "    import attention_lib.grading.limits\n"
        "    from attention_lib.lessons.gpu.launch import flash_attention\n"
    )
    missing = missing_modules(package, left_out=["gpu"])
    assert sorted(missing) == [
        "attention_lib.checks.panel",
        "attention_lib.commands",
        "attention_lib.grading",
        "attention_lib.grading.limits",
        "attention_lib.lessons",
        "attention_lib.lessons.gpu",
        "attention_lib.standing",
    ]
    assert set(missing.values()) == {"attention_lib/checks/one.py"}


def test_module_that_no_edition_may_have_stops_the_making(tmp_path):
    package = tmp_path / "attention_lib"
    package.mkdir()
    (package / "learn.py").write_text("from attention_lib import record\n")
    making._write_imported(package, LESSONS)
    assert (package / "record.py").is_file()
    (package / "learn.py").write_text("from attention_lib.grading import limits\n")
    with pytest.raises(
        making.EditionError, match=r"learn\.py imports attention_lib\.grading, which"
    ):
        making._write_imported(package, LESSONS)
