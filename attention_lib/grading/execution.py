"""Running a submission: in a kernel that may hang or die without stopping anyone else."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
from collections.abc import Iterator
from subprocess import DEVNULL
from typing import Any

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from traitlets import default

from attention_lib.grading.intake import problem_of

SEED = "ATTENTION_LIB_SEED"
STOPPED = "PythonStopped"  # the error shown in the cell that ended the kernel


@functools.cache
def seed_of_this_run() -> str:
    """Return the seed of the hidden cases: one for all submissions that a process grades."""
    return os.environ.get(SEED) or str(secrets.randbits(32))


class ExecuteSubmission(Execute):
    """Run a notebook to its end, whatever its cells do to the kernel.

    Once a cell has ended Python, or keeps it busy and cannot be interrupted, no later cell is
    run; what the earlier ones showed is kept.
    """

    @default("shutdown_kernel")
    def _shutdown_kernel_default(self) -> str:
        return "immediate"  # there is nothing in it to save

    def preprocess(
        self, nb: NotebookNode, resources: Any = None, km: Any = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if problem_of(nb):
            return nb, resources  # there is nothing of the student's to run
        self.stopped = False
        return super().preprocess(nb, resources, km)

    @contextlib.contextmanager
    def setup_kernel(self, **kwargs: Any) -> Iterator[None]:
        # PYTHONSAFEPATH: a file handed in along with the notebook is not imported in place of
        # a module of ours. What a kernel writes past its notebook is nobody's to read.
        env = {**os.environ, SEED: seed_of_this_run(), "PYTHONSAFEPATH": "1"}
        with super().setup_kernel(env=env, stdout=DEVNULL, stderr=DEVNULL, **kwargs):
            yield

    def preprocess_cell(
        self, cell: NotebookNode, resources: Any, index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if self.stopped:
            return cell, self.resources
        try:
            return super().preprocess_cell(cell, resources, index)
        except DeadKernelError:
            self._stop(cell, "Python ended while this cell ran; the cells below could not run.")
        except CellTimeoutError:
            self._stop(
                cell,
                "This cell did not end and could not be interrupted; the cells below did not run.",
            )
        return cell, self.resources

    def _stop(self, cell: NotebookNode, sentence: str) -> None:
        self.stopped = True
        self.log.error("%s It begins: %.60r", sentence, cell.source)
        cell.outputs.append(
            new_output("error", ename=STOPPED, evalue=sentence, traceback=[sentence])
        )
