"""Reading an untrusted folder: links, pipes, devices and huge files are refused."""

import os
import socket
import stat

import pytest

from attention_lib.grading.intake.folder import (
    Missing,
    NotTaken,
    is_folder,
    names,
    newest_change,
    opened,
    read_file,
)


@pytest.fixture
def untrusted(tmp_path):
    """The folder student/lesson, opened."""
    inner = tmp_path / "student" / "lesson"
    inner.mkdir(parents=True)
    with opened(inner, below=tmp_path) as opened_folder:
        yield opened_folder


def link_to_a_file(path):
    (path.parent / "real").write_text("secret")
    path.symlink_to(path.parent / "real")


def link_to_nothing(path):
    path.symlink_to("nowhere")


def second_name(path):
    (path.parent / "real").write_text("secret")
    os.link(path.parent / "real", path)


def named_pipe(path):
    os.mkfifo(path)


def device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero, which never ends
    except PermissionError:
        pytest.skip("only root makes devices")


def open_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)
    os.chdir(here)


def subfolder(path):
    path.mkdir()


def large(path):
    path.write_bytes(b"x" * 1001)


def sparse(path):
    with path.open("wb") as file:
        file.truncate(10**12)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (link_to_a_file, "a link"),
        (link_to_nothing, "a link"),
        (second_name, "a file with several names"),
        (named_pipe, "something other than a file"),
        (device, "something other than a file"),
        (open_socket, "something other than a file"),
        (subfolder, "something other than a file"),
        (large, "larger than 0.001 MB"),
        (sparse, "larger than 0.001 MB"),
    ],
)
def test_links_pipes_devices_and_large_files_are_refused(untrusted, make, reason):
    make(untrusted.path / "it")
    with pytest.raises(NotTaken, match=reason):
        read_file(untrusted, "it", most=1000)


@pytest.mark.parametrize("name", ["it", "it\n", "IT.Txt", "CON", "aux.txt", "-rf", "é", "a b"])
def test_file_of_any_name_is_read(untrusted, name):
    (untrusted.path / name).write_bytes(b"\x00\r\n\xff" * 250)
    assert read_file(untrusted, name, most=1000) == b"\x00\r\n\xff" * 250
    assert names(untrusted, most=10) == [name]
    assert not is_folder(untrusted, name)


def test_missing_file_has_an_error_of_its_own(untrusted):
    with pytest.raises(Missing):
        read_file(untrusted, "it", most=1000)
    with pytest.raises(Missing):
        is_folder(untrusted, "it")


def test_names_are_sorted_and_limited(untrusted):
    for name in "cab":
        (untrusted.path / name).write_text("")
    assert names(untrusted, most=3) == ["a", "b", "c"]
    assert len(names(untrusted, most=2)) == 2


def test_newest_change_is_that_of_an_inode_and_follows_no_link(untrusted, tmp_path):
    top = untrusted.path
    (top / "in").mkdir()
    (top / "in" / "file").write_text("")
    os.utime(top / "in" / "file", (0, 0))
    (top / "link").symlink_to(tmp_path / "later")
    os.utime(top, (0, 0))
    (tmp_path / "later").write_text("")
    newest = max(path.stat().st_ctime for path in (top, top / "in" / "file"))
    assert newest_change(top, tmp_path, 10, 5) == newest
    (top / "in" / "file").chmod(0o600)
    assert newest_change(top, tmp_path, 10, 5) == (top / "in" / "file").stat().st_ctime
    (top / "in" / "file").unlink()
    assert newest_change(top, tmp_path, 10, 5) == top.stat().st_ctime


def test_system_without_lookups_in_an_open_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(NotTaken, match="use Linux, macOS or WSL"), opened(tmp_path, tmp_path):
        pass


@pytest.mark.parametrize("part", ["student", "lesson"])
@pytest.mark.usefixtures("untrusted")
def test_link_in_the_path_is_refused(tmp_path, part):
    elsewhere = tmp_path / "elsewhere"
    path = tmp_path / "student" / "lesson"
    (path if part == "lesson" else path.parent).rename(elsewhere)
    (path if part == "lesson" else path.parent).symlink_to(elsewhere)
    with pytest.raises(NotTaken, match="a link"), opened(path, below=tmp_path):
        pass


@pytest.mark.usefixtures("untrusted")
def test_path_through_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotTaken, match="no folder"), opened(tmp_path / "file", below=tmp_path):
        pass
    with pytest.raises(Missing), opened(tmp_path / "nothing", below=tmp_path):
        pass


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="nothing counts open files here")
@pytest.mark.usefixtures("untrusted")
def test_descriptors_are_closed(tmp_path):
    before = os.listdir("/proc/self/fd")
    with opened(tmp_path / "student" / "lesson", below=tmp_path):
        pass
    with pytest.raises(Missing), opened(tmp_path / "student" / "other", below=tmp_path):
        pass
    assert os.listdir("/proc/self/fd") == before
