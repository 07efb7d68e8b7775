"""Reading zip archives from strangers."""

import stat
import zipfile

import pytest

from attention_lib.grading import limits
from attention_lib.grading.collect.archives import NotCollected, read_zip
from tests.grading.collect.zips import zipped


def link(name):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def encrypted():
    content = bytearray(zipped(("a.ipynb", "{}")))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def test_plain_files_are_read_with_their_folders():
    content = zipped(("ada/a.ipynb", "{}"), ("ada/in/data.csv", "1,2"), ("ada/", ""))
    assert read_zip(content).contents == {"ada/a.ipynb": b"{}", "ada/in/data.csv": b"1,2"}


def test_links_and_hidden_files_are_left_out():
    content = zipped(("a", "1"), (link("b"), "/etc/passwd"), (".c", "1"), ("__MACOSX/d", "1"))
    assert read_zip(content).contents == {"a": b"1"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "damaged, or no zip archive"),
        (b"PK\x03\x04 and nothing else", "damaged, or no zip archive"),
        (b"7z\xbc\xaf\x27\x1c and more", "damaged, or no zip archive"),
        (zipped(("a", "x" * 1000))[:-30], "damaged, or no zip archive"),
        (zipped(*[(f"{n}", "") for n in range(2_001)]), "more than 2,000 files"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_archive_that_cannot_be_read_is_refused(content, why):
    with pytest.raises(NotCollected, match=why):
        read_zip(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (zipped(("a", "x"), method=0).replace(b"x", b"y"), "it is damaged"),
        (encrypted(), "encrypted"),
        (zipped(("a", "1"), method=zipfile.ZIP_BZIP2), "packed by a method"),
        (zipped(("a", "1"), method=zipfile.ZIP_LZMA), "packed by a method"),
        (zipped(("../a", "1")), "leads out of its folder"),
        (zipped(("/etc/a", "1")), "leads out of its folder"),
        (zipped(("b/../../a", "1")), "leads out of its folder"),
        (zipped(("..\\a", "1")), "leads out of its folder"),
        (zipped(("C:\\a", "1")), "leads out of its folder"),
        (zipped(("a\nb", "1")), "no text"),
        (zipped(("a\tb", "1")), "no text"),
        (zipped(("a" * 259, "1")), "too long"),
        (zipped(("\u0928" * 80, "1")), "too long"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_file_that_is_damaged_or_has_an_odd_name_is_left_out_and_named(content, why):
    found = read_zip(content)
    assert found.contents == {}
    ((name, reason),) = found.left_out.items()
    assert why in reason
    assert "a" in name or "\u0928" in name


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_in_an_archive_is_neither_of_the_two():
    found = read_zip(zipped(("a", "1"), ("a", "2"), ("b", "3")))
    assert found.contents == {"b": b"3"}
    assert found.left_out == {"a": "the archive holds it twice"}


def test_small_archive_of_much_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(limits, "NOTEBOOK_BYTES", 100_000)
    for sizes in ((100_000_000,), (90_000, 90_000)):
        bomb = zipped(*[(f"{n}", b"\0" * size) for n, size in enumerate(sizes)])
        with pytest.raises(NotCollected, match="holds too much"):
            read_zip(bomb[:])
