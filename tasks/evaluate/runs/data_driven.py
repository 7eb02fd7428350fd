"""Golden suites of data-driven tests: such a suite runs the cases that were observed to read the golden data.

Neither the patch nor a rule over names identifies these cases: an environment must collect them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tasks.adapters.patch.split import Kind, kind_of
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import EditedDefinition, Suite
from tasks.domain.environment import DrivenCase, Readiness
from tasks.domain.names import EnvId, InstanceId, InstanceKey, RepoPath
from tasks.domain.outcome import SuiteKind
from tasks.domain.places import Places
from tasks.domain.run import files_key

DATA = "data"
"""Reason for counting a data-driven case as edited: the golden patch edits the data that it reads."""


def drive_golden_suites(places: Places, environments: Mapping[InstanceId, EnvId]) -> None:
    """Rewrites the golden suites of these instances so that they run the data-driven cases of their environments.

    A suite that consists only of data which no case reads gets no files to run.
    """
    store = Store(places.store)
    if not environments:
        return
    of_these = {"env_id": set(environments.values()), "instance_id": set(environments)}
    driven: dict[InstanceKey, list[DrivenCase]] = defaultdict(list)
    for row in store.read(DrivenCase, **of_these):
        if environments[row.instance_id] == row.env_id:
            driven[row.instance_key].append(row)
    ready = (row for row in store.read(Readiness, **of_these) if environments[row.instance_id] == row.env_id)
    looked_at = {row.instance_key for row in ready if row.ready and not row.cases}
    for key in sorted(driven.keys() | looked_at):
        for suite in store.read(Suite, instance_key=key, kind=SuiteKind.GOLDEN):
            cases = driven.get(key, [])
            if not cases and not all(kind_of(path) is Kind.HELPER for path in suite.files):
                continue
            wanted = with_cases(suite, cases)
            if wanted != suite:
                store.write(edits_of(suite, cases))
                store.write([wanted])


def with_cases(suite: Suite, driven: Iterable[DrivenCase]) -> Suite:
    """Returns the suite with the data-driven cases as its files. A case missing at the base commit has no base file."""
    rows = tuple(driven)
    files = tuple(sorted({RepoPath(row.argument) for row in rows}))
    base = tuple(sorted({RepoPath(row.argument) for row in rows if row.at_base}))
    return replace(suite, files=files, files_key=files_key(files), base_files=base, base_files_key=files_key(base))


def edits_of(suite: Suite, driven: Iterable[DrivenCase]) -> tuple[EditedDefinition, ...]:
    """Returns the definitions of the cases, without duplicates."""
    named = sorted({(row.path, qualname_of(row.case_id)) for row in driven})
    return tuple(
        EditedDefinition(
            suite_id=suite.suite_id, instance_key=suite.instance_key, path=path, qualname=qualname, why=DATA
        )
        for path, qualname in named
    )


def qualname_of(case_id: str) -> str:
    """Returns the qualified name in the runner's notation: `tests/t.py::TestX::test_y[a]` → `TestX.test_y`."""
    return ".".join(case_id.partition("::")[2].split("[", 1)[0].split("::"))
