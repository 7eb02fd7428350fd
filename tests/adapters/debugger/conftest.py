"""A session that is opened when it is asked for, and ends with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from debugged import open_session

from tasks.adapters.debugger.session import DebugSession

Debug = Callable[..., DebugSession]


@pytest.fixture
def debug(tmp_path: Path) -> Iterator[Debug]:
    """`open_session` below a folder of the test's own."""
    with ExitStack() as stack:

        def opened(*args: Any, **options: Any) -> DebugSession:
            return stack.enter_context(open_session(tmp_path, *args, **options))

        yield opened
