"""What a command wrote into a folder is replaced; nothing of anybody else's is lost."""

import hashlib
import json
import os

import pytest

from attention_lib.grading.replacing import LIST, HoldsOtherFiles, replace_written


def write(folder, **contents):
    for name, content in contents.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def contents(folder):
    files = {path: path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    return {
        name: path.read_text() for path, name in files.items() if path.is_file() and name != LIST
    }


@pytest.fixture
def replace(tmp_path):
    """Return a function that replaces what is in the folder `target`."""

    def replace(**files):
        new = tmp_path / f"new{len(list(tmp_path.iterdir()))}"
        new.mkdir()
        replace_written(tmp_path / "target", write(new, **files))
        return contents(tmp_path / "target")

    return replace


def test_files_that_are_gone_are_removed_with_their_folders(replace, tmp_path):
    replace(a="1", b__c__d="2", b__e="3")
    assert replace(a="4", b__e="3") == {"a": "4", "b/e": "3"}
    assert not (tmp_path / "target" / "b" / "c").exists()


def test_files_of_others_stay(replace, tmp_path):
    replace(a="1", b__c="2")
    write(tmp_path / "target", mine="3", b__mine="4")
    assert replace(a="5") == {"a": "5", "mine": "3", "b/mine": "4"}


def test_same_content_may_be_written_again(replace, tmp_path):
    replace(a="1")
    write(tmp_path / "target", a="2")  # as after an interruption
    assert replace(a="2") == {"a": "2"}


def changed(target):
    write(target, a="mine")


def in_the_way(target):
    write(target, c="mine")


def folder_in_the_way(target):
    write(target, c__d="mine")


def file_for_a_folder(target):
    write(target, e="mine")


def link_for_a_file(target):
    (target / "a").unlink()
    (target / "a").symlink_to("elsewhere")


def link_for_a_folder(target):
    (target.parent / "elsewhere").mkdir()
    (target / "e").symlink_to(target.parent / "elsewhere")


def list_lost(target):
    (target / LIST).unlink()


def list_damaged(target):
    (target / LIST).write_text("[")


def add_to_list(target, name):
    digest = hashlib.sha256(b"mine").hexdigest()
    listed = json.loads((target / LIST).read_text())
    (target / LIST).write_text(json.dumps({**listed, name: digest}))


def list_with_a_file_outside(target):
    write(target.parent, precious="mine")
    add_to_list(target, "../precious")


def list_with_an_absolute_path(target):
    write(target.parent, precious="mine")
    add_to_list(target, str(target.parent / "precious"))


def list_of_no_digests(target):
    (target / LIST).write_text('{"a": ["1"]}')


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such links")
@pytest.mark.parametrize(
    "change",
    [
        changed,
        in_the_way,
        folder_in_the_way,
        file_for_a_folder,
        link_for_a_file,
        link_for_a_folder,
        list_lost,
        list_damaged,
        list_with_a_file_outside,
        list_with_an_absolute_path,
        list_of_no_digests,
    ],
)
def test_nothing_is_changed_where_something_would_be_lost(replace, tmp_path, change):
    replace(a="1", b="2")
    change(tmp_path / "target")
    before = contents(tmp_path)
    with pytest.raises(HoldsOtherFiles, match="move it away, or choose another folder"):
        replace(a="5", c="6", e__f="7")
    after = {name: text for name, text in contents(tmp_path).items() if name[:3] != "new"}
    assert after == {name: text for name, text in before.items() if name[:3] != "new"}
