"""Named primitives, and for each name one function that makes it and one that parses it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any, NewType

from tasks.domain.errors import BadInput

CaseId = NewType("CaseId", str)
"""Runner-native id of one test case: `tests/test_a.py::TestX::test_y[p]` for pytest and sympy,
`app.test_mod.TestX.test_y` for unittest."""

CandidateId = NewType("CandidateId", str)
"""Content key of one candidate: instance, method, model, sample and patch."""

EnvId = NewType("EnvId", str)
"""Content key of the lock of an environment."""

InstanceId = NewType("InstanceId", str)
"""SWE-bench form: `owner__name-number`."""

InstanceKey = NewType("InstanceKey", str)
"""Content key of the repository, base commit, golden patch and golden tests."""

LineNo = NewType("LineNo", int)
"""1-based line of a file, in the numbering of the code state stored with it."""

MethodName = NewType("MethodName", str)
"""Name by which methods are requested and counted: `zero_shot`, `libro+test-file`, or that in a predictions file."""

ModelName = NewType("ModelName", str)
"""A model in `data/models.toml`, or the name in a predictions file; empty if no model was used."""

RepoName = NewType("RepoName", str)
"""`owner/name`."""

RepoPath = NewType("RepoPath", str)
"""POSIX path relative to the root of the repository."""

RequestId = NewType("RequestId", str)
"""Content key of a run, of the requesting instance, and of the run's role for that instance."""

RunKey = NewType("RunKey", str)
"""Content key of all inputs of a run."""

Sha = NewType("Sha", str)
"""40 hexadecimal digits of a git commit."""

SnapshotName = NewType("SnapshotName", str)
"""A month such as `2026-11`, a revision of one (`2026-11.1`), or the name given to an import."""

SuiteId = NewType("SuiteId", str)
"""Content key of a test patch as executed."""

FixId = NewType("FixId", str)
"""Content key of a change of the code under test."""

RepairId = NewType("RepairId", str)
"""Content key of a submitted repair."""

KEY_DIGITS = 32
FILE_NAME_BYTES = 80
"""Longest file name that `file_name` makes; file systems allow 255 bytes, suffixes and temporary names included."""
NOT_IN_A_WORD = frozenset(",[]+=@ ")
"""Characters not allowed in a word of an experiment's name. The name consists of such words,
`METHOD[PARAMETER=WORD,…]+GIVEN@MODEL`, and command lines contain lists of names."""
SNAPSHOT_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
COMPONENT = r"[^./\\\x00-\x1f\x7f-][^/\\\x00-\x1f\x7f]{0,199}"
"""One component of a path: no separator, no control character, neither hidden nor `..`, and no option of a program."""
_COMPONENT = re.compile(COMPONENT)
_OWNER = r"(?P<owner>[A-Za-z0-9][A-Za-z0-9.-]{0,99}(?:_[A-Za-z0-9.-]{1,99}){0,4})"
"""GitHub owners contain no `__`. So `owner__name` can be parsed unambiguously."""
_NAME = r"(?P<name>(?!\.{1,2}(?:-\d+)?$)[A-Za-z0-9_.-]{1,100})"
_REPO = re.compile(f"{_OWNER}/{_NAME}")
_INSTANCE = re.compile(rf"{_OWNER}__{_NAME}-(?P<number>\d{{1,18}})", re.ASCII)

_PLAIN_FILE = re.compile(r"[a-z0-9][a-z0-9_-]*")
_DIGEST_DIGITS = 16
_ENDS_IN_DIGEST = re.compile(rf".*--[0-9a-f]{{{_DIGEST_DIGITS}}}")
_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
"""Windows opens a device under these names, with any suffix."""

_MONTH = re.compile(r"(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])(?:\.(?P<revision>[1-9]\d*))?")


def is_word(text: str) -> bool:
    """Whether a text can be one value in the name of an experiment."""
    return bool(text) and NOT_IN_A_WORD.isdisjoint(text)


def content_key(*parts: object) -> str:
    """Returns the first 128 bits of the SHA-256 of `parts` as canonical JSON, in hexadecimal.

    Tuples equal lists. Raises `TypeError` for sets and other types that JSON does not support.
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        data = text.encode("utf-8", "surrogateescape")  # bytes of a file name that is not UTF-8
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")  # unpaired surrogates, which models emit
    return hashlib.sha256(data).hexdigest()[:KEY_DIGITS]


def file_name(name: str) -> str:
    """Returns a unique file name for any name, also on file systems that ignore case.

    It has at most `FILE_NAME_BYTES` ASCII letters, digits, `_` and `-`, so a suffix after a dot stays distinguishable.
    A short name in lower case is unchanged; any other one ends with `--` and a digest of the whole name.
    """
    plain = _PLAIN_FILE.fullmatch(name) and len(name) <= FILE_NAME_BYTES
    if plain and not _RESERVED.fullmatch(name) and not _ENDS_IN_DIGEST.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[: FILE_NAME_BYTES - _DIGEST_DIGITS - 2]
    return f"{readable or 'x'}--{digest}"


def path_component(name: str) -> str:
    """Returns `name` if it can be one component of a path; raises `BadInput` if it could lead elsewhere.

    Every name from a caller or a row becomes a path through this function or through `repo_folder`.
    """
    if not _COMPONENT.fullmatch(name) or len(name.encode("utf-8", "surrogatepass")) > 200:
        raise BadInput(f"{name!r} cannot be the name of a file", hint="use no separator, no `.` or `-` at the start")
    return name


def snapshot_name(text: str) -> SnapshotName:
    """Returns `text` if it can name a snapshot; raises `BadInput` for anything else."""
    if not re.fullmatch(SNAPSHOT_NAME, text):
        raise BadInput(f"{text!r} cannot name a snapshot", hint="letters, digits, `.`, `_` and `-`")
    return SnapshotName(text)


def repo_name(text: str) -> RepoName:
    """Returns `text` if it is `owner/name` as GitHub spells it; raises `BadInput` for anything else."""
    if not _REPO.fullmatch(text):
        raise BadInput(f"{text!r} is not of the form owner/name", hint="write a repository as pallets/flask")
    return RepoName(text)


def repo_folder(repo: str) -> str:
    """Returns `pallets__flask` for `pallets/flask`. Raises `BadInput` if `repo` is not `owner/name`."""
    return repo_name(repo).replace("/", "__")


def instance_id(repo: RepoName, number: int) -> InstanceId:
    """Returns `pallets__flask-4045` for `pallets/flask`, 4045; `parse_instance_id` is the inverse."""
    return InstanceId(f"{repo_folder(repo)}-{number}")


def parse_instance_id(name: str) -> tuple[RepoName, int]:
    """Returns the repository and pull request number in an instance id. Raises `ValueError` if it is not one."""
    match = _INSTANCE.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not an instance id of the form owner__name-number")
    return RepoName(f"{match['owner']}/{match['name']}"), int(match["number"])


def month_of(name: str) -> tuple[int, int, int] | None:
    """Returns (year, month, revision) of a snapshot named after a month; None for any other name.

    `2026-03` is revision 0, `2026-03.1` the next one. The tuples sort in chronological order.
    """
    match = _MONTH.fullmatch(name)
    return (int(match["year"]), int(match["month"]), int(match["revision"] or 0)) if match else None


def sorted_lines(lines: Iterable[int]) -> tuple[LineNo, ...]:
    """Returns distinct line numbers in ascending order."""
    return tuple(LineNo(line) for line in sorted(set(lines)))


def jsonable(value: Any) -> Any:
    """Returns `value` with tuples as lists, recursively: the form for `content_key` and Parquet."""
    if isinstance(value, tuple | list):
        return [jsonable(item) for item in value]
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    return value
