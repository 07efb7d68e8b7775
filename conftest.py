"""Import the library before its modules' doctests, so that its functions keep their names."""

import attention_lib  # noqa: F401
