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
    assert read_zip(content) == {"ada/a.ipynb": b"{}", "ada/in/data.csv": b"1,2"}


def test_links_and_hidden_files_are_left_out():
    content = zipped(("a", "1"), (link("b"), "/etc/passwd"), (".c", "1"), ("__MACOSX/d", "1"))
    assert read_zip(content) == {"a": b"1"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "damaged, or no zip archive"),
        (b"PK\x03\x04 and nothing else", "damaged, or no zip archive"),
        (zipped(("a", "x" * 1000))[:-30], "damaged, or no zip archive"),
        (zipped(("a", "x"), method=0).replace(b"x", b"y"), "damaged, or no zip archive"),
        (encrypted(), "encrypted"),
        (zipped(("a", "1"), method=zipfile.ZIP_BZIP2), "packed by a method"),
        (zipped(("a", "1"), method=zipfile.ZIP_LZMA), "packed by a method"),
        (zipped(("../a", "1")), "leads out of it"),
        (zipped(("/etc/a", "1")), "leads out of it"),
        (zipped(("b/../../a", "1")), "leads out of it"),
        (zipped(("..\\a", "1")), "leads out of it"),
        (zipped(("C:\\a", "1")), "leads out of it"),
        (zipped(("/".join("a" * 30), "1")), "nested too deeply"),
        (zipped(("a\nb", "1")), "no text"),
        (zipped(("a" * 300, "1")), "too long"),
        (zipped(*[(f"{n}", "") for n in range(2_001)]), "more than 2,000 files"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_archive_that_is_damaged_or_leads_elsewhere_is_refused(content, why):
    with pytest.raises(NotCollected, match=why):
        read_zip(content)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archive_with_a_name_twice_is_refused():
    with pytest.raises(NotCollected, match="twice"):
        read_zip(zipped(("a", "1"), ("a", "2")))


def test_small_archive_of_much_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(limits, "NOTEBOOK_BYTES", 100_000)
    for sizes in ((100_000_000,), (90_000, 90_000)):
        bomb = zipped(*[(f"{n}", b"\0" * size) for n, size in enumerate(sizes)])
        with pytest.raises(NotCollected, match="holds too much"):
            read_zip(bomb[:])
