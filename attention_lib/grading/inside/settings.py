"""Settings of the fork server, the same for all submissions to a lesson."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the server finds out only from outside the sandbox; sent as JSON."""

    descriptor_bytes: int  # the buffer of a socket or a pipe
    seccomp_filter: str  # its instructions, in hexadecimal
    modules: list[str]  # imported once, before the first submission
    hidden: list[str]  # folders and files that must not be visible
    folders_in_tmp: list[str]  # folders of Python below /tmp, which stay visible
    links_in_tmp: dict[str, str]  # symbolic links to Python's folders, and their targets
