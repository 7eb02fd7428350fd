"""What makes an instance doubtful, told without a model: its statement, and what its golden tests ask beyond it. Pure.

A flag rejects nothing: it is a row that a reader can leave out by, and whoever judges with a model or by hand adds rows
of another `origin`. Of 296 rows of SWE-bench's Lite and Verified, chosen for being clear, the rules say `exact_wording`
of five, `unnamed` of four, `names_nothing` and `short` of two each; all thirteen were looked at and are so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, RepoName
from tasks.domain.published import Flag, QualityFlag

ORIGIN = "rules"
SHORT, LONG = 20, 1000
"""Words of a statement that are few, or many."""

_CODE = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|`[^`\n]+`|^(?: {4}|\t|>>> ).*$", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)|<img\b[^>]*>|https?://\S+\.(?:png|jpe?g|gif|svg)\b", re.IGNORECASE)
_LINK = re.compile(r"https?://\S+")
_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_MADE = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+([A-Za-z_]\w*)", re.MULTILINE)
_TEXT = re.compile(r"""(?<!\\)(["'])((?:(?!\1)[^\\\n]|\\.){12,}?)\1""")
_HOLE = re.compile(r"\{[^{}]*\}|%[\w.()]*[sdrifg]|\\.")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "and are be but by can does for from has have how i if is it not of or should that the there this to we what "
        "when which with would you",
    )
)
"""English words of which a text in English has many, and one in a neighbouring language few."""
_LEAST_COMMON = 0.04
"""Their least share. Statements of SWE-bench with 30 words of prose have at least 0.044, in the middle 0.29."""


def flags_of(instance: TaskInstance, in_base: Callable[[str], bool]) -> tuple[QualityFlag, ...]:
    """The flags of one instance by itself. `in_base`: whether the code before the fix holds a text; asked seldom."""
    if instance.trial:
        return (flag(instance, Flag.PLACEHOLDER, "put together from a git history"),)
    found = (*_of_statement(instance.problem_statement), *_of_tests(instance, in_base))
    return tuple(flag(instance, kind, detail) for kind, detail in found)


def relations_of(
    instances: Iterable[TaskInstance], issues: Mapping[InstanceId, Sequence[int]], imported: Iterable[TaskInstance]
) -> Iterator[QualityFlag]:
    """The flags that follow from other rows: `issues` that each pull request closes, and instances of other people."""
    theirs: dict[InstanceId, list[TaskInstance]] = defaultdict(list)
    for row in imported:
        theirs[row.instance_id].append(row)
    closing: dict[tuple[RepoName, int], list[InstanceId]] = defaultdict(list)
    rows = tuple(instances)
    for row in rows:
        for issue in issues.get(row.instance_id, ()):
            closing[row.repo, issue].append(row.instance_id)
    for row in rows:
        own = issues.get(row.instance_id, ())
        if len(own) > 1:
            yield flag(row, Flag.SEVERAL_ISSUES, ", ".join(f"#{issue}" for issue in own))
        for issue in own:
            if others := [name for name in closing[row.repo, issue] if name != row.instance_id]:
                yield flag(row, Flag.SHARED_ISSUE, f"#{issue} also: {', '.join(others)}")
        for other in theirs[row.instance_id]:
            yield flag(row, Flag.SAME_PULL_REQUEST, f"in {other.snapshot}, {_difference(row, other)}")


def _difference(row: TaskInstance, other: TaskInstance) -> str:
    """What of two instances of one pull request is not the same."""
    names = {"base_commit": "base", "patch": "patch", "test_patch": "tests", "problem_statement": "statement"}
    found = [said for name, said in names.items() if getattr(row, name) != getattr(other, name)]
    return f"other {', '.join(found)}" if found else "the same"


def flag(instance: TaskInstance, kind: Flag, detail: str) -> QualityFlag:
    """One flag of an instance, of these rules."""
    return QualityFlag(
        snapshot=instance.snapshot,
        instance_id=instance.instance_id,
        instance_key=instance.instance_key,
        flag=kind,
        detail=detail,
        origin=ORIGIN,
    )


def _of_statement(said: str) -> Iterator[tuple[Flag, str]]:
    prose = _CODE.sub(" ", said)
    plain = _LINK.sub(" ", _PICTURE.sub(" ", prose))
    words = [word.lower() for word in _WORD.findall(plain)]
    if len(said.split()) < SHORT:
        yield Flag.SHORT, f"{len(said.split())} words"
    if len(said.split()) > LONG:
        yield Flag.LONG, f"{len(said.split())} words"
    if len(words) < 2 * SHORT and not _CODE.search(said):
        if _PICTURE.search(said):
            yield Flag.ONLY_PICTURE, f"{len(words)} words, no code"
        elif _LINK.search(said):
            yield Flag.ONLY_LINK, f"{len(words)} words, no code"
    if len(words) >= 30 and (share := sum(word in _COMMON for word in words) / len(words)) < _LEAST_COMMON:
        yield Flag.NOT_ENGLISH, f"{share:.0%} of {len(words)} words are common English ones"


def _of_tests(instance: TaskInstance, in_base: Callable[[str], bool]) -> Iterator[tuple[Flag, str]]:
    """What the golden tests ask that the statement does not give."""
    said, tests = instance.problem_statement, _changed(instance.test_patch, "+")
    added, there = _changed(instance.patch, "+"), _changed(instance.patch, "- ")
    asked = set(_NAME.findall(tests))
    known = set(_NAME.findall(there)) | set(_NAME.findall(said))
    made = sorted(name for name in set(_MADE.findall(added)) & asked - known if not name.startswith("test"))
    if unnamed := [name for name in made if _stem(name) not in said and not in_base(name)]:
        yield Flag.UNNAMED, ", ".join(unnamed)
    worded = sorted(set(_wordings(added)) - set(_wordings(there)))
    plain, told = _flat(tests), _flat(said)
    if exact := [text for text in worded if text in plain and text not in told and not in_base(text)]:
        yield Flag.EXACT_WORDING, "; ".join(exact)
    touched = set(_NAME.findall(_changed(instance.patch, "+-"))) | set(_NAME.findall(" ".join(_paths(instance.patch))))
    if not {name.lower() for name in touched | asked} & {name.lower() for name in _NAME.findall(said)} - _COMMON:
        yield Flag.NAMES_NOTHING, "no name of the statement is in the patch or the tests"


def _stem(name: str) -> str:
    """`set_width` → `width`: a statement that speaks of `get/set_width` gives both."""
    return re.sub(r"^_*(?:get|set|is|has)_", "", name)


def _wordings(code: str) -> Iterator[str]:
    """The fixed parts of string literals that have three words or more."""
    for _, text in _TEXT.findall(code):
        for part in _HOLE.split(text):
            if len(part.split()) >= 3:
                yield _flat(part).strip()


def _flat(text: str) -> str:
    """White space as one blank, and without the backslashes of patterns."""
    return " ".join(text.replace("\\", "").split())


def _changed(text: str, signs: str) -> str:
    """The lines of a patch with one of these signs."""
    patch = read_patch(text)
    files = patch.files if isinstance(patch, Patch) else ()
    return "".join(line[1:] for file in files for hunk in file.hunks for line in hunk.lines if line[0] in signs)


def _paths(text: str) -> Iterable[str]:
    patch = read_patch(text)
    return [path for file in patch.files for path in file.paths] if isinstance(patch, Patch) else ()
