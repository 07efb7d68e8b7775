"""Share one SQLAlchemy engine, and its cache of compiled queries, among nbgrader's gradebooks.

nbgrader opens the gradebook about ten times for each submission. Each time it makes an engine, looks
for the tables and compiles every query anew, which takes a third of the time of grading.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from nbgrader.api import Gradebook
from sqlalchemy import Engine
from sqlalchemy.orm import scoped_session, sessionmaker


@contextlib.contextmanager
def shared_engine() -> Iterator[None]:
    """Make an engine, and look for the tables, once for each database that is opened in the body."""
    opened: dict[tuple[str, str], Engine] = {}
    open_anew = Gradebook.__init__

    def __init__(
        self: Gradebook, db_url: str, course_id: str = "default_course", authenticator: Any = None
    ) -> None:
        engine = opened.get((db_url, course_id))
        if engine is None:
            open_anew(self, db_url, course_id, authenticator)
            opened[db_url, course_id] = self.engine
            return
        self.engine = engine
        self.db = scoped_session(sessionmaker(autoflush=True, bind=engine, future=True))
        self.course_id = course_id
        self.authenticator = authenticator

    Gradebook.__init__ = __init__
    try:
        yield
    finally:
        Gradebook.__init__ = open_anew
