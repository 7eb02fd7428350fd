"""git as the referee of our reading and writing: what `git apply` makes of a patch's own text, we make of what we read
in it, byte for byte; and it applies what we write."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch, Refused, Rung
from tasks.adapters.patch.read import read_patch, to_bytes, to_text
from tasks.adapters.patch.render import Change, render
from tasks.adapters.patch.split import is_test_path, split

LINES = st.lists(
    st.sampled_from(["", "a", "b", "    c", "--- x", "+++ y", "@@ -1 +1 @@", "\\ z", "é", "e\r"]), max_size=14
)
TEXT = st.builds(lambda lines, last: "\n".join(lines) + last, LINES, st.sampled_from(["", "\n"]))
PATHS = ("tests/test_a.py", "src/b.py", "tests/data/c d.txt", "src/testament/ä.py")
FILES = st.dictionaries(st.sampled_from(PATHS), st.tuples(st.none() | TEXT, st.none() | TEXT), min_size=1)
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

Files = dict[str, tuple[str | None, str | None]]


def patch_of(files: Files) -> str:
    return render(Change(path=path, before=old, after=new) for path, (old, new) in files.items())


def apply(patch: str, before: dict[str, str | None]) -> tuple[Applied, dict[str, str | None]]:
    read = read_patch(patch)
    assert isinstance(read, Patch)
    base = {path: to_bytes(text) for path, text in before.items() if text is not None}
    applied = apply_to_files(read, base.get)
    assert isinstance(applied, Applied), applied
    return applied, before | {change.path: change.after for change in applied.changes}


def git_apply(patch: str, before: dict[str, str | None]) -> dict[str, str | None] | None:
    """The files after `git apply` outside of any repository; null where git refuses."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in before.items():
            if text is not None:
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_bytes(to_bytes(text))
        env = {"PATH": os.environ["PATH"], "GIT_DIR": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull}
        argv = ["git", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(argv, input=to_bytes(patch), cwd=folder, env=env, capture_output=True, check=False)
        found = {path: Path(folder) / path for path in before}
        if done.returncode != 0:
            return None
        return {path: to_text(file.read_bytes()) if file.is_file() else None for path, file in found.items()}


@EXAMPLES
@given(FILES)
def test_what_is_rendered_applies_exactly_here_and_in_git(files: Files) -> None:
    before = {path: old for path, (old, _) in files.items()}
    after = {path: new for path, (_, new) in files.items()}
    patch = patch_of(files)
    if patch:
        applied, found = apply(patch, before)
        assert (applied.rung, applied.patch, found) == (Rung.EXACT, patch, after)
        assert git_apply(patch, before) == after


@EXAMPLES
@given(FILES)
def test_wrong_counts_come_out_right(files: Files) -> None:
    before = {path: old for path, (old, _) in files.items()}
    after = {path: new for path, (_, new) in files.items()}
    patch = patch_of({path: pair for path, pair in files.items() if not _looks_like_headers(pair)})
    miscounted = re.sub(r"^@@ -(\d+),\d+ \+(\d+),\d+ @@$", r"@@ -\1,99 +\2,99 @@", patch, flags=re.MULTILINE)
    if miscounted != patch:
        applied, found = apply(miscounted, before)
        expected = {
            path: after[path] if f"b/{path}" in patch or path in _paths(patch) else before[path] for path in before
        }
        assert applied.rung in (Rung.RECOUNT, Rung.EXACT)
        assert found == expected


def _looks_like_headers(pair: tuple[str | None, str | None]) -> bool:
    """Without counts such lines cannot be told from headers, and blank ones at the end not from prose."""
    return any(text is not None and re.search(r"^(---|\+\+\+|@@|\\)|^$", text, re.MULTILINE) for text in pair)


def _paths(patch: str) -> list[str]:
    read = read_patch(patch)
    return [file.path for file in read.files] if isinstance(read, Patch) else []


@EXAMPLES
@given(TEXT, TEXT, st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["", "x", "a"])), max_size=3))
def test_against_an_edited_base_git_and_we_agree(old: str, new: str, edits: list[tuple[int, str]]) -> None:
    """The patch was made for another state of the file: git takes it exactly where our first rung does.

    Both states end alike: git also forgives a missing last newline, we do so on a later rung.
    """
    patch = render([Change(path="x", before=old, after=new)])
    lines = old.split("\n")
    for at, line in edits:
        lines.insert(at % len(lines), line)
    before: dict[str, str | None] = {"x": "\n".join(lines)}
    read = read_patch(patch)
    if isinstance(read, Refused) or "\r" in old + new:
        return
    applied = apply_to_files(read, lambda _: to_bytes(before["x"] or ""))
    exact = isinstance(applied, Applied) and applied.rung is Rung.EXACT
    theirs = git_apply(patch, before)
    assert exact == (theirs is not None)
    if isinstance(applied, Applied) and theirs is not None:
        assert {"x": applied.changes[0].after if applied.changes else before["x"]} == theirs


@EXAMPLES
@given(FILES)
def test_the_halves_together_make_the_whole(files: Files) -> None:
    before = {path: old for path, (old, _) in files.items()}
    patch = patch_of(files)
    read = read_patch(patch)
    if isinstance(read, Refused):
        return
    halves = split(read)
    assert all(is_test_path(file.path) for file in halves.tests)
    now = before
    for half in (halves.tests, halves.source):
        base = {path: to_bytes(text) for path, text in now.items() if text is not None}
        applied = apply_to_files(Patch(files=half), base.get) if half else None
        assert not isinstance(applied, Refused)
        now = now | {change.path: change.after for change in (applied.changes if applied else ())}
    assert now == apply(patch, before)[1]
