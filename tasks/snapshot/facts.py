"""What can be counted about an instance: its statement, its code base, its patches (paper, Table 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.model import FilePatch, Patch, Status
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.split import is_test_path
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoName, Sha
from tasks.domain.published import InstanceFact

_LINK = re.compile(r"https?://\S+")
_IMAGE = re.compile(r"!\[[^\]]*\]\(|<img\b|\.(?:png|jpe?g|gif|svg)\b", re.IGNORECASE)
_COMMIT = re.compile(r"(?<![\w/])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?!\w)")
_REFERENCE = re.compile(r"(?<![\w&/])(?:(?<![.-])[\w.-]+/[\w.-]+)?#\d+\b")


@dataclass(frozen=True, slots=True)
class CodeBase:
    """Size of a commit."""

    files: int
    lines: int


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a patch."""

    files: int
    new_files: int
    hunks: int
    added: int
    removed: int


def code_base(mirrors: Mirrors, repo: RepoName, commit: Sha) -> CodeBase:
    """Python files of a commit that are no tests, and their lines."""
    entries = [entry for entry in mirrors.python_files(repo, commit) if not is_test_path(entry.path)]
    lines = sum(blob.count(b"\n") for blob in mirrors.blobs(repo, (entry.sha for entry in entries)))
    return CodeBase(len(entries), lines)


def size_of(text: str) -> Size:
    """Zero throughout where the text is no patch."""
    patch = read_patch(text)
    files: Sequence[FilePatch] = patch.files if isinstance(patch, Patch) else ()
    return Size(
        files=len(files),
        new_files=sum(file.status in (Status.ADDED, Status.DELETED) for file in files),
        hunks=sum(len(file.hunks) for file in files),
        added=_signed(files, "+"),
        removed=_signed(files, "-"),
    )


def fact_of(instance: TaskInstance, base: CodeBase) -> InstanceFact:
    """The row of one instance."""
    patch, tests, said = size_of(instance.patch), size_of(instance.test_patch), instance.problem_statement
    plain = _LINK.sub(" ", said)
    return InstanceFact(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        statement_words=len(said.split()),
        source_files=base.files,
        source_lines=base.lines,
        patch_files=patch.files,
        patch_new_files=patch.new_files,
        patch_hunks=patch.hunks,
        patch_added=patch.added,
        patch_removed=patch.removed,
        test_files=tests.files,
        test_added=tests.added,
        test_removed=tests.removed,
        links=len(_LINK.findall(said)),
        images=len(_IMAGE.findall(said)),
        commits=len(_COMMIT.findall(plain)),
        references=len(_REFERENCE.findall(plain)),
    )


def _signed(files: Iterable[FilePatch], sign: str) -> int:
    return sum(line[0] == sign for file in files for hunk in file.hunks for line in hunk.lines)
