"""Export feedback pages like HTMLExporter, but within limits, and with cached templates.

HTMLExporter compiles its templates for each page, and parses each finished page with BeautifulSoup
to add alternative texts to pictures. That takes two thirds of its time.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from typing import Any

from jinja2 import BytecodeCache, DictLoader, Environment
from jinja2.bccache import Bucket
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_markdown_cell, new_output
from traitlets import Bool, default

from attention_lib.grading import limits
from attention_lib.grading.judge.checking import verdict_of
from attention_lib.grading.pages import page_template
from attention_lib.grading.resource_limits import TooSlow, cpu_limit, memory_limit

log = logging.getLogger(__name__)

NO_ALT = re.compile(r"<img (?![^>]*\balt=)")
ALT = '<img alt="No description has been provided for this image" '


class _TemplateCache(BytecodeCache):
    """A cache of compiled templates, for the life of this process."""

    def __init__(self) -> None:
        self._bytecode: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._bytecode:
            bucket.bytecode_from_string(self._bytecode[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._bytecode[bucket.key] = bucket.bytecode_to_string()


# Jinja compiles context filters differently: use one cache per set of them.
_template_caches: defaultdict[frozenset[str], _TemplateCache] = defaultdict(_TemplateCache)


class _PageKeeper(TemplateExporter):
    """Keep the rendered page, and give HTMLExporter an empty one to parse."""

    page = ""

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        self.page, resources = super().from_notebook_node(nb, resources, **kw)
        return "", resources


class FeedbackExporter(HTMLExporter, _PageKeeper):
    """HTMLExporter with cached templates; alternative texts are added by a regular expression.

    For a notebook that takes too much time or memory, the page shows only its points.
    """

    points_alone = Bool(False, help="Write pages without the notebook.").tag(config=True)

    @default("extra_loaders")
    def _default_extra_loaders(self) -> list[DictLoader]:
        return [DictLoader({page_template.NAME: page_template.PAGE})]

    @property
    def environment(self) -> Environment:
        environment = super().environment
        filters = environment.filters.items()
        with_context = frozenset(name for name, one in filters if hasattr(one, "jinja_pass_arg"))
        environment.bytecode_cache = _template_caches[with_context]
        return environment

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        if not self.points_alone:
            try:
                with memory_limit(limits.PAGE_MEMORY_BYTES), cpu_limit(limits.PAGE_CPU_SECONDS):
                    return self._export(nb, resources, **kw)
            except (TooSlow, MemoryError, RecursionError) as problem:
                log.info("A page shows points alone: %r", problem)
        return self._export(_without_contents(nb), resources, **kw)

    def _export(
        self, nb: NotebookNode, resources: dict[str, Any] | None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        _, resources = super().from_notebook_node(nb, resources, **kw)
        return NO_ALT.sub(ALT, self.page), resources


def _without_contents(nb: NotebookNode) -> NotebookNode:
    """Return a notebook of only the graded cells, without contents, below a sentence that says so."""
    note = (
        "**This notebook takes too long, or too much memory, to be shown. Below are its points.**"
    )
    cells = [new_markdown_cell(note, id="note", metadata={"attention_lib": {}})]  # not folded
    for cell in nb.cells:
        if "nbgrader" in cell.metadata:
            empty = {**cell, "source": ""}
            if cell.cell_type == "code":
                empty["outputs"] = _empty_outputs_with_verdicts(cell)
            empty.pop("attachments", None)
            cells.append(empty)
    return from_dict({**nb, "cells": cells})


def _empty_outputs_with_verdicts(cell: NotebookNode) -> list[NotebookNode]:
    """Return what a check decided, as outputs that show nothing."""
    if not cell.metadata.nbgrader.get("grade") or cell.metadata.nbgrader.get("solution"):
        return []
    return [
        new_output("display_data", {"text/plain": ""}, metadata=output.metadata)
        for output in cell.outputs
        if verdict_of(output)
    ]
