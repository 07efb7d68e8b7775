"""The exporter of feedback pages: nbconvert's, without the two thirds of its work that recur."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbformat import NotebookNode

NO_ALT = re.compile(r"<img (?![^>]*\balt=)")
ALT = '<img alt="No description has been provided for this image" '


class _Compiled(BytecodeCache):
    """Keep compiled templates for the life of this process."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


_compiled = _Compiled()


class _Rendered(TemplateExporter):
    """Keep the page from what HTMLExporter would still do to it."""

    page = ""

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        self.page, resources = super().from_notebook_node(nb, resources, **kw)
        return "", resources


class FeedbackExporter(HTMLExporter, _Rendered):
    """Compile the templates once in a process, not once a student; parse no finished page.

    HTMLExporter parses each page and writes it again in order to give pictures a text that
    takes their place, which is done here without.
    """

    @property
    def environment(self) -> Environment:
        environment = super().environment
        environment.bytecode_cache = _compiled
        return environment

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        _, resources = super().from_notebook_node(nb, resources, **kw)
        return NO_ALT.sub(ALT, self.page), resources
