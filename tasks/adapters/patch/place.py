"""Where hunks belong: git's answer.

git is given texts under numbers of ours and hunks that were counted anew, in an empty folder outside of any repository:
no path, mode or link of a patch ever reaches it, nor does a configuration of the user or the machine. What may be
written where is decided by `paths.py` and `apply.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks.adapters.patch.model import BinaryContents, Hunk, Rung
from tasks.adapters.patch.read import split_lines, to_bytes, to_text
from tasks.adapters.patch.render import NO_BLOB, binary_section, blob_sha, signed
from tasks.domain.errors import InfrastructureError

GIT_S = 60.0
"""What git may take for one patch in all; an honest one takes milliseconds. It looks for a hunk that nearly fits in
time by the cube of its lines: 6,000 of one letter take 8 seconds, 30,000 a quarter of an hour, and then come the rungs.
"""
_FAILED_AT = re.compile(rb"^error: patch failed: \d+:(\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """The hunks of one file, and its text before them; empty for a file that is not there."""

    text: str
    hunks: tuple[Hunk, ...]
    contents: BinaryContents | None = None
    """In place of hunks."""
    strict: Rung
    """What it is called if git takes it as it is: `exact`, or `recount` where something about it was mended."""


class TooSlow(Exception):
    """git was ended: its time was over."""


@dataclass(slots=True)
class TimeForGit:
    """What is left for git, of the time that one patch has."""

    left_s: float = field(default_factory=lambda: GIT_S)


@dataclass(frozen=True, slots=True)
class Placed:
    rung: Rung
    text: str


@dataclass(frozen=True, slots=True)
class Misfit:
    """An edit that git takes on no rung."""

    edit: int
    """Its position."""
    line: int
    """Of the file, where its hunk should have been; 0 where git does not say."""


def place(edits: Sequence[LineEdit], time_for_git: TimeForGit) -> list[Placed] | Misfit:
    """Every text after its hunks, or the first edit that fits nowhere. One git process if all fit as they are.

    `TooSlow` where git takes more than the time that is left.
    """
    texts = _made_whole(edits) or _git(edits, (), time_for_git)
    if isinstance(texts, list):
        return [Placed(edit.strict, text) for edit, text in zip(edits, texts, strict=True)]
    placed: list[Placed] = []
    for at, edit in enumerate(edits):
        one = _climb(edit, time_for_git)
        if isinstance(one, int):
            return Misfit(at, one)
        placed.append(one)
    return placed


def _made_whole(edits: Sequence[LineEdit]) -> list[str] | None:
    """New files have no place to look for, and most candidates are nothing else: no process for them."""
    if any(edit.text or edit.contents or len(edit.hunks) > 1 or any(hunk.old for hunk in edit.hunks) for edit in edits):
        return None
    return ["".join(line for hunk in edit.hunks for line in hunk.new) for edit in edits]


def _climb(edit: LineEdit, time_for_git: TimeForGit) -> Placed | int:
    """The first rung on which git takes the edit; else the line that it refuses on the last one."""
    texts = _git([edit], (), time_for_git)
    if isinstance(texts, list):
        return Placed(edit.strict, texts[0])
    terminated = _terminated(edit)
    for rung, options in () if edit.contents else _relaxed(edit):
        texts = _git([terminated], options, time_for_git)
        if isinstance(texts, list):
            return Placed(rung, _unterminated(texts[0], edit.text))
    assert isinstance(texts, int)
    return texts


def _terminated(edit: LineEdit) -> LineEdit:
    """The edit with a newline below every line: without one, git's relaxed options join lines that they should not."""
    hunks = tuple(replace(hunk, lines=tuple(map(_ended, hunk.lines))) for hunk in edit.hunks)
    return replace(edit, text=_ended(edit.text) if edit.text else "", hunks=hunks)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n"


def _unterminated(after: str, before: str) -> str:
    """Where the file had no last newline and still has that last line, it has none afterwards."""
    last = before.rpartition("\n")[2]
    return after.removesuffix("\n") if last and split_lines(after)[-1:] == [last + "\n"] else after


def _relaxed(edit: LineEdit) -> tuple[tuple[Rung, tuple[str, ...]], ...]:
    """git's options for the upper rungs. Without context a hunk has to remove something, or it would fit anywhere."""
    anchored = all(any(line[0] == "-" and line[1:].strip() for line in hunk.lines) for hunk in edit.hunks)
    context = "-C0" if anchored else "-C1"
    return (
        (Rung.REDUCED_CONTEXT, ("-C1", "--unidiff-zero")),
        (Rung.FUZZY, (context, "--unidiff-zero", "--ignore-whitespace")),
    )


def _git(edits: Sequence[LineEdit], options: Sequence[str], time_for_git: TimeForGit) -> list[str] | int:
    """What `git apply` makes of the texts; the line of the first hunk that it refuses, 0 where it does not say."""
    with tempfile.TemporaryDirectory(prefix="swt-apply-") as name:
        folder = Path(name)
        for at, edit in enumerate(edits):
            (folder / str(at)).write_bytes(to_bytes(edit.text))
        diff = "".join(_diff(at, edit) for at, edit in enumerate(edits))
        done = _run(["git", "apply", "--whitespace=nowarn", *options, "-"], folder, to_bytes(diff), time_for_git)
        if done.returncode == 0:
            contents = [(folder / str(at)).read_bytes() for at in range(len(edits))]
            return list(map(to_text, contents)) if all(map(_as_said, edits, contents)) else 0
    failed = _FAILED_AT.search(done.stderr)
    return int(failed[1]) if failed else 0


def _as_said(edit: LineEdit, made: bytes) -> bool:
    """Whether a binary file became what its patch names. At a damaged one git stops reading, leaves out what follows,
    and succeeds."""
    if not edit.contents:
        return True
    return made == b"" if edit.contents.new == NO_BLOB else blob_sha(made) == edit.contents.new


def _run(argv: list[str], folder: Path, diff: bytes, time_for_git: TimeForGit) -> subprocess.CompletedProcess[bytes]:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": str(folder),  # attributes below it are read whatever the configuration says
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        # In a repository, `git apply` leaves out files above the working folder in silence, and succeeds.
        "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent),
    }
    begun = time.monotonic()
    try:
        return subprocess.run(
            argv,
            input=diff,
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
            timeout=max(time_for_git.left_s, 0),
        )
    except FileNotFoundError as error:
        raise InfrastructureError("git is not installed", hint="run `swt doctor`") from error
    except subprocess.TimeoutExpired:
        raise TooSlow from None
    finally:
        time_for_git.left_s -= time.monotonic() - begun


def _diff(at: int, edit: LineEdit) -> str:
    """A diff that edits the file called `at`. Every file is there, so nothing is ever made or deleted."""
    if edit.contents:
        # git compares names of blobs, and a file that is to be made is an empty one here.
        made = replace(edit.contents, old=blob_sha(b"")) if edit.contents.old == NO_BLOB else edit.contents
        return f"diff --git a/{at} b/{at}\n{binary_section(made)}"
    hunks = "".join(map(_counted, edit.hunks))
    return f"diff --git a/{at} b/{at}\n--- a/{at}\n+++ b/{at}\n{hunks}" if hunks else ""


def _counted(hunk: Hunk) -> str:
    """A hunk as text, with the counts of what is there; one that changes nothing is nothing."""
    if all(line[0] == " " for line in hunk.lines):
        return ""
    old, new = len(hunk.old), len(hunk.new)
    return f"@@ -{hunk.old_start},{old} +{hunk.new_start},{new} @@\n{signed(hunk.lines)}"
