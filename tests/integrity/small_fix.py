"""Fixes of a few files: as an instance, and what patches make of its files."""

from __future__ import annotations

from collections.abc import Mapping

from domain_rows import task_instance
from hypothesis import strategies as st

from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored
from tasks.adapters.patch.render import Change, render
from tasks.domain.instance import TaskInstance

Files = Mapping[str, str | None]
"""Path → text; None where the file is missing."""

SNIPPETS = (
    "import os\n",
    "\n",
    "# a remark\n",
    'LIMIT = 3\nNAME = "a"\n',
    "x = 1; y = 2\n",
    'TEXT = """a\n  b"""; z = 1\n',
    "def area(w, h=2):\n    if w < 0:\n        return None\n    return w * h\n",
    "@staticmethod\ndef marked(*, a: int = 1) -> int:\n    '''Docs.'''\n    return a and 1\n",
    "class Box:\n    size = 3\n    @property\n    def half(self):\n        self.n = 1\n        return self.size / 2\n",
    "class Empty: pass\n",
    "def one_line(): return 1\n",
    "def wraps(f):\n    @str\n    def inner(g):\n        return g + 1\n    return inner\n",
    "async def later(q):\n    for one in q:\n        if one is None:\n            break\n    return q == 3\n",
    "def loops(n):\n    while n > 1:\n        n = n - 1\n    return n\n",
    "try:\n    import json\nexcept ImportError:\n    json = None\n",
)
ENDS = (lambda text: text, lambda text: text.replace("\n", "\r\n"), lambda text: text.removesuffix("\n"))
COOKIES = ("", "# -*- coding: utf-8 -*-\n", "#!/usr/bin/env python\n# vim: set fileencoding=utf-8 :\n")


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, str]:
    """A module before and after a fix."""
    before = draw(st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=6))
    after = list(before)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(after)))
        after[at : at + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(SNIPPETS), max_size=2))
    cookie, end = draw(st.sampled_from(COOKIES)), draw(st.sampled_from(ENDS))
    return end(cookie + "".join(before)), end(cookie + "".join(after))


def fix_of(before: Files, after: Files) -> TaskInstance:
    """An instance whose golden patch changes files from `before` to `after`."""
    changes = [Change(path=path, before=before.get(path), after=after.get(path)) for path in {**before, **after}]
    return task_instance(patch=render(changes))


def reader(files: Files) -> ReadBase:
    def read(path: str) -> bytes | None:
        text = files.get(path)
        return None if text is None else text.encode("utf-8", "surrogateescape")

    return read


def patched(files: Files, patch: str) -> dict[str, str | None]:
    """All files after a patch, which has to apply exactly as it is."""
    applied = apply_stored(patch, reader(files))
    assert isinstance(applied, Applied), applied
    assert applied.patch == patch
    return {**files, **{change.path: change.after for change in applied.changes}}
