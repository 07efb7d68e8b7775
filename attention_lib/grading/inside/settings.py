"""Settings of the fork server, the same for all submissions to a lesson."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What a submission may use, and where Python is; sent as JSON."""

    memory_bytes: int
    cpu_seconds: int  # of all processes together
    processes: int
    open_files: int
    descriptor_bytes: int  # the buffer of a socket or a pipe
    file_bytes: int
    folder_bytes: int
    folder_files: int
    shared_memory_bytes: int
    seccomp_filter: str  # its instructions, in hexadecimal
    modules: list[str]  # imported once, before the first submission
    hidden: list[str]  # folders and files that must not be visible
    folders_in_tmp: list[str]  # folders of Python below /tmp, which stay visible
    links_in_tmp: dict[str, str]  # symbolic links to Python's folders, and their targets
