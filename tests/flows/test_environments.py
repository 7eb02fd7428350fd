"""What one machine has built another one builds only where something is left to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from compiled_project import CAN_COMPILE, COMMANDS, NO_COMPILER, REPO, compiled_mirror, write_instance, write_recipe

from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.store.tables.store import Store
from tasks.domain.environment import EnvironmentAttempt
from tasks.domain.outcome import SandboxKind
from tasks.domain.places import Places
from tasks.domain.run import Run

pytestmark = [
    pytest.mark.bubblewrap,
    pytest.mark.skipif(not CAN_COMPILE, reason=NO_COMPILER),
    pytest.mark.skipif(Bubblewrap().why_not() != "", reason="needs bubblewrap"),
]
PLAIN = EvaluationRequest(candidates=("golden",), snapshot="s", guards=False, confirm=False)


@dataclass(frozen=True, kw_only=True)
class WithRecipe(Settings):
    """Settings of a machine that knows the compiled project."""

    recipes: Path

    @property
    def places(self) -> Places:
        return replace(super().places, recipes=self.recipes)


def machine(folder: Path, name: str) -> WithRecipe:
    """One with a mirror and a cache of its own; all have the store."""
    own = folder / name
    settings = WithRecipe(
        store=str(folder / "store"),
        cache=own / "cache",
        database=own / "swt.duckdb",
        scratch=own / "scratch",
        sandbox=SandboxKind.BUBBLEWRAP,
        workers=1,
        recipes=folder / "recipes",
    )
    base = compiled_mirror(own / "project", settings.places.mirrors / f"{REPO.replace('/', '__')}.git")
    if not (folder / "row.jsonl").exists():
        write_recipe(folder / "recipes", COMMANDS)
        import_rows(settings, write_instance(folder / "row.jsonl", base), "s")
    return settings


def built(settings: Settings) -> list[str]:
    """Environments and extension modules that a machine has."""
    found = [*settings.cache.glob("environments/*/environment.json"), *settings.cache.glob("extensions/*.tar")]
    return sorted(str(path.relative_to(settings.cache)) for path in found)


@pytest.mark.slow
def test_where_every_run_is_there_no_environment_is_built(tmp_path: Path) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    first = run_flow(PLAIN, one)
    assert first.ran.executed

    again = run_flow(PLAIN, two)

    assert (again.exit_code, again.ran.executed, again.ran.reused) == (0, 0, first.ran.executed)
    assert again.environments == first.environments
    assert again.rows == first.rows
    assert built(two) == []


@pytest.mark.slow
def test_where_a_run_is_wanted_its_environment_is_built_as_it_was(tmp_path: Path) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    first = run_flow(PLAIN, one)

    checked = run_flow(replace(PLAIN, guards=True), two)

    assert checked.exit_code == 0, checked.text
    assert checked.ran.executed
    assert built(two) == built(one)
    store = Store(one.store)
    assert {run.env_id for run in store.read(Run)} == set(first.environments.values())
    assert len({row.basis for row in store.read(EnvironmentAttempt)}) == 1
