"""What inference came to on base commits: one line per repository, and the story of every commit that is not valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measured import text_table
from tasks.domain.environment import Cause
from tasks.domain.validation import Validation


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds of one step."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    """Of this process and of all that it started and waited for."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(wall_s=round(self.wall_s + other.wall_s, 2), cpu_s=round(self.cpu_s + other.cpu_s, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One base commit: its climb, and what it took to run its golden tests before and after."""

    instance: str
    repo: str
    date: str
    """Day of the base commit (of the merge, where it is from the history), UTC."""
    origin: str
    """`dataset` or `history`."""
    env_id: str
    """Empty where nothing was built, like all that follows from it."""
    python: str
    runner: str
    rung: str
    """The rung in use."""
    failed_rungs: dict[str, str]
    """Rung → what stood in its way."""
    causes: dict[str, str]
    """Rung → the cause of its failure, in the order in which they were tried."""
    complaint: str
    """Why there was no ladder; empty where there was one."""
    build: Spent
    check: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The same with what its runs say."""

    measured: Measured
    validation: Validation
    listed: int | None
    """Cases that the dataset's FAIL_TO_PASS names; null where it has no list."""
    contained: int | None
    """Of these, how many are among ours."""

    @property
    def first_built(self) -> str:
        """The first rung whose packages could be installed, which is where a ladder that looks at nothing else ends."""
        named = (rung for rung, cause in self.measured.causes.items() if cause != Cause.BUILD)
        return next(named, self.measured.rung)

    @property
    def built(self) -> bool:
        return bool(self.first_built)

    @property
    def collects(self) -> bool:
        return bool(self.measured.env_id)

    @property
    def first_collects(self) -> bool:
        """Whether the tests can be collected on the first rung that builds."""
        return self.collects and self.first_built == self.measured.rung

    @property
    def first_valid(self) -> bool:
        return self.valid and self.first_collects

    @property
    def valid(self) -> bool:
        """Judged valid, with all that the dataset lists."""
        return not self.why_not

    @property
    def why_not(self) -> str:
        return str(self.validation.reason) or ("listed F2P missing" if self.listed != self.contained else "")


HEAD = (
    "repository",
    "commits",
    "years",
    "built",
    "collects: first rung that builds",
    "ladder",
    "valid: first rung that builds",
    "ladder",
    "the dataset's F2P found",
    "rungs",
    "build, wall s",
    "CPU s",
    "check, wall s",
    "CPU s",
    "why not",
)


def table(judged: Sequence[Judged]) -> str:
    """One line per repository and one for all; seconds are medians, with the greatest in brackets."""
    repos = sorted({one.measured.repo for one in judged})
    rows = [_line(repo, [one for one in judged if one.measured.repo == repo]) for repo in repos]
    return text_table(HEAD, [*rows, _line("all", judged)])


def _line(name: str, some: Sequence[Judged]) -> tuple[str, ...]:
    years = sorted(one.measured.date[:4] for one in some)
    listed = [one for one in some if one.listed is not None]
    built = [one.measured for one in some if one.collects]
    return (
        name,
        str(len(some)),
        f"{years[0]}–{years[-1]}",
        str(sum(one.built for one in some)),
        str(sum(one.first_collects for one in some)),
        str(len(built)),
        str(sum(one.first_valid for one in some)),
        str(sum(one.valid for one in some)),
        f"{sum(one.listed == one.contained for one in listed)} of {len(listed)}" if listed else "–",
        _counts(one.rung for one in built),
        *_seconds([one.build for one in built]),
        *_seconds([one.check for one in built]),
        _counts(one.why_not for one in some if not one.valid) or "–",
    )


def _seconds(spent: Sequence[Spent]) -> tuple[str, str]:
    if not spent:
        return "–", "–"
    walls, cpus = [one.wall_s for one in spent], [one.cpu_s for one in spent]
    return f"{median(walls):.0f} ({max(walls):.0f})", f"{median(cpus):.0f} ({max(cpus):.0f})"


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in Counter(words).most_common())


def commits(judged: Sequence[Judged]) -> str:
    """What is to be said of every commit that is not valid or had a rung that failed."""
    return "\n".join(line for one in judged if not one.valid or one.measured.failed_rungs for line in _story(one))


def _story(one: Judged) -> list[str]:
    measured, detail = one.measured, one.measured.complaint or one.validation.detail
    found = f"{one.contained} of {one.listed} listed" if one.listed is not None else "no list"
    kinds = f"F2P {one.validation.fail_to_pass}, P2P {one.validation.pass_to_pass}, {found}"
    head = f"{measured.instance} ({measured.date}, {measured.python or '-'}, {measured.rung or '-'})"
    failed = [f"    {rung}: {error}" for rung, error in measured.failed_rungs.items()]
    return [f"{head}: {one.why_not or 'valid'}; {kinds}", *[f"    {detail}"] * bool(detail), *failed]
