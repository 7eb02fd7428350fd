"""Golden suites of data-driven tests: the cases that were seen to read the golden data are what runs.

The patch alone cannot tell them, and no rule over names can: it takes an environment to collect in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tasks.adapters.store.warehouse import Store
from tasks.domain.candidate import EditedDefinition, Suite
from tasks.domain.environment import DrivenCase
from tasks.domain.names import EnvId, InstanceId, RepoPath
from tasks.domain.outcome import SuiteKind
from tasks.domain.places import Places
from tasks.domain.run import files_key

DATA = "data"
"""Why a driven case counts as edited: what it reads is."""


def drive_golden_suites(places: Places, environments: Mapping[InstanceId, EnvId]) -> None:
    """Write the golden suites of these instances with the driven cases of their environments, where they have some."""
    store = Store(places.store)
    if not environments:
        return
    rows = store.read(DrivenCase, env_id=set(environments.values()), instance_id=set(environments))
    ours = [row for row in rows if environments[row.instance_id] == row.env_id]
    for key in sorted({row.instance_key for row in ours}):
        driven = [row for row in ours if row.instance_key == key]
        for suite in store.read(Suite, instance_key=key, kind=SuiteKind.GOLDEN):
            wanted = with_cases(suite, driven)
            if wanted != suite:
                store.write(edits_of(suite, driven))
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
