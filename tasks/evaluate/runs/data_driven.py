"""Golden suites of data-driven tests: the cases that were seen to read the golden data are what runs.

The patch alone cannot tell them, and no rule over names can: it takes an environment to collect in.
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
"""Why a driven case counts as edited: what it reads is."""


def drive_golden_suites(places: Places, environments: Mapping[InstanceId, EnvId]) -> None:
    """Write the golden suites of these instances with the driven cases of their environments, where they have some,
    and as nothing to run where all they have is data that no case reads."""
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
    """The suite with the driven cases as what it runs. One that is new has no run without the golden tests."""
    rows = tuple(driven)
    files = tuple(sorted({RepoPath(row.argument) for row in rows}))
    base = tuple(sorted({RepoPath(row.argument) for row in rows if row.at_base}))
    return replace(suite, files=files, files_key=files_key(files), base_files=base, base_files_key=files_key(base))


def edits_of(suite: Suite, driven: Iterable[DrivenCase]) -> tuple[EditedDefinition, ...]:
    """The definitions of the cases, each once."""
    named = sorted({(row.path, qualname_of(row.case_id)) for row in driven})
    return tuple(
        EditedDefinition(
            suite_id=suite.suite_id, instance_key=suite.instance_key, path=path, qualname=qualname, why=DATA
        )
        for path, qualname in named
    )


def qualname_of(case_id: str) -> str:
    """`tests/t.py::TestX::test_y[a]` → `TestX.test_y`, as the runner has it."""
    return ".".join(case_id.partition("::")[2].split("[", 1)[0].split("::"))
