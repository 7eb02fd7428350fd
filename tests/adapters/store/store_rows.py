"""Rows of every table for the store's tests: fixed ones by hand, arbitrary ones from the type hints."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

from domain_rows import run_row
from hypothesis import strategies as st

from tasks.domain.names import CaseId, EnvId, InstanceId, InstanceKey, LineNo, RepoName, RepoPath, RunKey, content_key
from tasks.domain.outcome import Outcome, Phase, Tracer
from tasks.domain.run import CaseOutcome, LineHit, Run, WatchedFile

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
RUN = run_row(
    run_key=RunKey("0" * 32),
    instance_key=InstanceKey("k" * 32),
    instance_id=InstanceId("pallets__flask-1"),
    repo=RepoName("pallets/flask"),
    env_id=EnvId("e" * 32),
    files=(RepoPath("tests/test_a.py"),),
    files_key="f" * 32,
    tracer=Tracer.PROBE,
    wall_s=1.5,
    setup_s=0.25,
    cases=2,
    project_version="0.1.0",
    started_at=NOON,
    finished_at=NOON,
)


def run(number: int, *, minute: int = 0, **changes: Any) -> Run:
    """Run `number`, finished some minutes after noon."""
    key = RunKey(content_key("test", number))
    return replace(RUN, run_key=key, finished_at=NOON + timedelta(minutes=minute), **changes)


def facts(of: Run, message: str = "") -> tuple[list[CaseOutcome], list[LineHit], list[WatchedFile]]:
    """As many outcomes as the run counts, one hit, one watched file."""
    path = RepoPath("tests/test_a.py")
    cases = [
        CaseOutcome(
            run_key=of.run_key,
            case_id=CaseId(f"{path}::test_{number}"),
            path=path,
            qualname=f"test_{number}",
            label=f"{path}::test_{number}",
            position=number,
            phase=Phase.CALL,
            outcome=Outcome.PASSED,
            duration_s=0.1,
            message=message,
        )
        for number in range(of.cases)
    ]
    lines = (LineNo(1), LineNo(2))
    hits = [LineHit(run_key=of.run_key, path=RepoPath("src/a.py"), case_id=None, lines=lines, counts=(1, 2))]
    return cases, hits, [WatchedFile(run_key=of.run_key, path=RepoPath("src/a.py"), loaded=True, executable=lines)]


ODD_TEXT = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=()), max_size=20),
    st.text(st.sampled_from("\\ud8005c\ufffd\udc80\ud83d\x00\n'\""), max_size=12),
)


def rows_of(row_type: type[Any]) -> st.SearchStrategy[Any]:
    """Any row of a table, odd text included."""
    hints = get_type_hints(row_type)
    return st.builds(row_type, **{name: _values(hint) for name, hint in hints.items()})


def _values(hint: Any) -> st.SearchStrategy[Any]:
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) is tuple:
        return st.lists(_values(get_args(hint)[0]), max_size=3).map(tuple)
    if type(None) in get_args(hint):
        return st.none() | st.one_of(*(_values(arg) for arg in get_args(hint) if arg is not type(None)))
    if issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    return PLAIN[hint]


MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: ODD_TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    datetime: MOMENTS,
}
