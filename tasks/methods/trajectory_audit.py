"""Find steps in which a method saw forbidden information, in its prompts, commands and their output.

The sandbox has no network and the checkout no later commits, so most attempts fail here. The audit still runs:
third-party trajectories come without such a guarantee, and attempts show what a method tries.

Commands are text from models and can be megabytes long. So RE2 searches them in linear time for any pattern; `re` can
take exponential time (`git -a -a -a …`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import re2

from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.domain.candidate import Candidate
from tasks.domain.guards import TrajectoryAudit
from tasks.domain.instance import TaskInstance
from tasks.domain.trajectory import TrajectoryStep

DETAIL_CHARACTERS = 300
FIX_CHARACTERS = 24
"""Minimum length, without blanks, of a line of the fix: shorter lines also occur in unrelated code."""
FIX_LINES = 2
"""Minimum number of different lines of the fix in one output that count as a finding. Lines that the method wrote
before do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Information that must not occur in a trajectory. Only the audit has it; the method never does."""

    owner_and_name: str
    commits: tuple[str, ...]
    """Commits that a method must not see, such as `environment_setup_commit` and the fix."""
    packages: tuple[str, ...]
    """Names under which the project is installed and imported."""
    fixed_lines: frozenset[str]
    """Lines that the golden patch and the golden tests add, without blanks."""
    known: str
    """Text that the method may know: the issue."""


Rule = Callable[[TrajectoryStep, Secrets], Iterator[str]]
"""Yields the suspicious texts of one step."""

_ALL_HISTORY = re2.compile(
    r"git\s+(?:-\S+\s+(?:\S+\s+)?)*(?:(?:log|rev-list|show|grep|shortlog)\b[^\n|;&]*(?:--all\b|--reflog\b|--remotes\b|--tags\b"
    r"|\borigin/|\bmaster\.\.|\bHEAD\.\.|@\{u)|reflog\b|fsck\b[^\n]*(?:--lost-found|--unreachable)|branch\b[^\n|;&]*\s-(?:a|r)\b"
    r"|for-each-ref\b|ls-remote\b|cat-file\b[^\n]*--batch-all-objects|tag\b)"
)
_FETCH = re2.compile(r"git\s+(?:-\S+\s+)*(?:fetch|pull|clone|remote\s+(?:add|set-url|update)|submodule\s+update)\b")
_INSTALL = re2.compile(
    r"(?:\bpip3?|\buv|-m\s+pip|\bpipx|\bpoetry|\bconda|\bmamba)\s+(?:pip\s+)?(?:install|download|wheel|add|sync|index)\b"
    r"(?P<what>[^\n|;&]*)"
)
_OWN_INSTALL = re.compile(r"^(?:\s+-\S+)*\s+(?:-e\s+)?\.(?:\[[\w,-]*\])?(?:\s|$)")
_COPY = re2.compile(r"(?:site|dist)-packages/(?P<name>[\w.]+)|/_vendor/(?P<vendored>\w+)")
_WEB = re2.compile(r"\b(?:curl|wget|http|requests\.get|urlopen|urlretrieve)\b[^\n]*")
_ADDRESS = re.compile(r"https?://(?!localhost|127\.0\.0\.1)[^\s'\"]+")
_WEB_TOOL = re2.compile(r"(?i)\b(?:web_search|web_fetch|webfetch|websearch|browser_\w+|google_search|fetch_url)\b")
_GOLDEN_FIELD = re.compile(r"\b(?:environment_setup_commit|FAIL_TO_PASS|PASS_TO_PASS|test_patch)\b")
_LIST_COMMA = re.compile(r"""['"]\s*,\s*['"]""")
_OTHER_PLACE = re2.compile(
    r"(?:\bfind\s+/(?:\s|$)|\bgrep\s+-\w*r\w*\s+\S+\s+/(?:\s|$)|\bls\s+(?:-\S+\s+)*/(?:\s|$)|/proc/(?:1|self)/)"
)


def told_the_fix(step: TrajectoryStep, secrets: Secrets) -> Iterator[str]:
    """The prompt names a later commit, as every run of one published agent did."""
    if step.role == "prompt":
        yield from _commits_in(step.text, secrets)
        yield from (match[0] for match in _GOLDEN_FIELD.finditer(step.text))


def later_commit(step: TrajectoryStep, secrets: Secrets) -> Iterator[str]:
    if step.role != "prompt":
        yield from _commits_in(step.text, secrets)


def all_history(step: TrajectoryStep, _secrets: Secrets) -> Iterator[str]:
    yield from _commands(step, _ALL_HISTORY)


def fetch(step: TrajectoryStep, _secrets: Secrets) -> Iterator[str]:
    yield from _commands(step, _FETCH)


def package_download(step: TrajectoryStep, secrets: Secrets) -> Iterator[str]:
    """The project itself, by name. The checkout (`pip install -e .`) and other packages are allowed."""
    if step.role == "command":
        for match in _INSTALL.finditer(step.text):
            names = re.findall(r"(?<![\w./-])([A-Za-z][\w.-]*)", match["what"])
            if not _OWN_INSTALL.match(match["what"]) and any(_plain(name) in secrets.packages for name in names):
                yield match[0]


def installed_copy(step: TrajectoryStep, secrets: Secrets) -> Iterator[str]:
    if step.role == "command":
        for match in _COPY.finditer(step.text):
            if _plain((match["name"] or match["vendored"]).removesuffix(".py")) in secrets.packages:
                yield match[0]


def repository_url(step: TrajectoryStep, secrets: Secrets) -> Iterator[str]:
    """Pages of the repository, or of its releases on any package server, unless the issue has the address."""
    if step.role in ("command", "thought"):
        own, rest = re2.escape(secrets.owner_and_name), r"[^\s'\"<>)]*"
        packages = "|".join(map(re2.escape, secrets.packages))
        pattern = re2.compile(
            rf"(?i)(?:github\.com|githubusercontent\.com|api\.github\.com/repos)/{own}{rest}"
            rf"|(?:[a-z0-9-]+\.)+[a-z]+(?::\d+)?/(?:project|pypi|simple)/(?:{packages})\b{rest}"
        )
        yield from (match[0] for match in pattern.finditer(step.text) if match[0] not in secrets.known)


def web_request(step: TrajectoryStep, _secrets: Secrets) -> Iterator[str]:
    for command in _commands(step, _WEB):
        if addresses := list(_ADDRESS.finditer(command)):
            yield command[: addresses[-1].end()]


def web_tool(step: TrajectoryStep, _secrets: Secrets) -> Iterator[str]:
    yield from _commands(step, _WEB_TOOL)


def fixed_content(step: TrajectoryStep, secrets: Secrets) -> Iterator[str]:
    """The output of a command has lines of the fix."""
    if step.role == "output":
        found = sorted({_squeezed(line) for line in step.text.splitlines()} & secrets.fixed_lines)
        if len(found) >= FIX_LINES:
            yield "; ".join(found)


def other_place(step: TrajectoryStep, _secrets: Secrets) -> Iterator[str]:
    yield from _commands(step, _OTHER_PLACE)


RULES: tuple[tuple[str, Rule], ...] = (
    ("told-the-fix", told_the_fix),
    ("later-commit", later_commit),
    ("all-history", all_history),
    ("fetch", fetch),
    ("package-download", package_download),
    ("installed-copy", installed_copy),
    ("repository-url", repository_url),
    ("web-request", web_request),
    ("web-tool", web_tool),
    ("fixed-content", fixed_content),
    ("other-place", other_place),
)


def secrets_of(
    instance: TaskInstance,
    *,
    packages: Iterable[str] = (),
    commits: Iterable[str] = (),
    given: Iterable[str] = (),
) -> Secrets:
    """Returns what a trajectory for `instance` must not contain. `packages` are more names of the project. `given` are
    patches that the method got, such as golden tests for a repair: reading their added lines is no finding."""
    name = instance.repo.partition("/")[2]
    golden = _added_lines(instance.patch) | _added_lines(instance.test_patch)
    setup = instance.environment_setup_commit
    later = {sha for sha in (setup, *commits) if sha and sha != instance.base_commit}
    return Secrets(
        owner_and_name=instance.repo,
        commits=tuple(sorted(later)),
        packages=tuple(sorted({_plain(name), *map(_plain, packages)})),
        fixed_lines=frozenset(golden.difference(*map(_added_lines, given))),
        known=instance.problem_statement,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A finding of a rule in one step."""

    step: int
    """0-based position in the trajectory."""
    rule: str
    detail: str
    """The suspicious text, at most 300 characters."""


def findings(steps: Iterable[TrajectoryStep], secrets: Secrets) -> Iterator[Suspicion]:
    """Yields one finding for each step and rule that matches. Lines of the fix that the model wrote itself do not
    count."""
    unwritten = secrets.fixed_lines
    for number, told in enumerate(steps):
        step = replace(told, text=told.text.encode("utf-8", "replace").decode())  # RE2 reads UTF-8
        if step.role in ("thought", "command", "prompt"):
            unwritten -= {_squeezed(line) for line in step.text.splitlines()}
        now = replace(secrets, fixed_lines=unwritten)
        for name, rule in RULES:
            if places := tuple(dict.fromkeys(rule(step, now))):
                detail = " ".join(" | ".join(places).split())[:DETAIL_CHARACTERS]
                yield Suspicion(step=number, rule=name, detail=detail)


def audit_trajectory(
    candidate: Candidate, steps: Iterable[TrajectoryStep], secrets: Secrets
) -> tuple[TrajectoryAudit, ...]:
    """Returns the findings on a candidate as rows."""
    return tuple(
        TrajectoryAudit(
            candidate_id=candidate.candidate_id,
            instance_key=candidate.instance_key,
            instance_id=candidate.instance_id,
            step=found.step,
            rule=found.rule,
            detail=found.detail,
        )
        for found in findings(steps, secrets)
    )


def _commands(step: TrajectoryStep, pattern: Any) -> Iterator[str]:
    """Yields matches in commands, also if the command is a list of words in a program: `["git", "log", "--all"]`."""
    if step.role == "command":
        yield from (match[0] for match in pattern.finditer(_LIST_COMMA.sub(" ", step.text)))


def _commits_in(text: str, secrets: Secrets) -> Iterator[str]:
    """Yields names of forbidden commits, full or abbreviated to seven digits or more."""
    for word in re.findall(r"(?<![\w])[0-9a-f]{7,40}(?![\w])", text):
        if any(sha.startswith(word) for sha in secrets.commits) and word not in secrets.known:
            yield word


def _added_lines(patch: str) -> set[str]:
    read = read_patch(patch)
    files = read.files if isinstance(read, Patch) else ()
    lines = {_squeezed(line[1:]) for file in files for hunk in file.hunks for line in hunk.lines if line[0] == "+"}
    old = {_squeezed(line[1:]) for file in files for hunk in file.hunks for line in hunk.lines if line[0] != "+"}
    return {line for line in lines - old if len(line) >= FIX_CHARACTERS}


def _squeezed(line: str) -> str:
    """Returns a line without blanks and without the line number or sign that a tool puts before it."""
    return re.sub(r"\s+", "", re.sub(r"^\s*(?:\d+[:|\t-]|[+>])\s?", "", line))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
