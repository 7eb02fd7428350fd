from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from domain_rows import environment_row

from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.builder import ROW
from tasks.demo.history import build_mirror
from tasks.domain.environment import EnvironmentAttempt
from tasks.domain.errors import InfrastructureError, NotFound
from tasks.domain.names import EnvId, InstanceId, InstanceKey, RepoName
from tasks.domain.outcome import SandboxKind
from tasks.domain.places import Places
from tasks.domain.undone import InEnvironment, OfInstance
from tasks.environment.task import (
    CheckSettings,
    build_again,
    climb_for,
    find_environment,
    has_environment,
    ladder_basis,
    prepare_environment,
)
from tasks.scrape.dataset_rows import import_instances

PROJECT = Path(__file__).parents[2]
DEMO = PROJECT / "data" / "demo"


def test_a_row_without_a_version_gets_the_recipe_of_the_version_in_its_files(tmp_path: Path) -> None:
    named = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances[0]
    places = Places(
        store=str(tmp_path / "store"),
        cache=tmp_path / "cache",
        recipes=PROJECT / "data" / "environments",
        scratch=tmp_path / "scratch",
    )
    build_mirror(DEMO, places.mirrors / f"{named.repo.replace('/', '__')}.git")

    versions = (named.version, None)
    by_row, by_files = (climb_for(places, CheckSettings(), replace(named, version=one)) for one in versions)

    assert by_row.built is not None
    assert by_files.built is not None
    assert by_files.built.environment.env_id == by_row.built.environment.env_id
    assert by_files.built.environment.install == ("host",)
    assert "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1" in by_files.built.environment.env


def test_a_ladder_that_was_climbed_is_climbed_again_only_for_a_reason(tmp_path: Path) -> None:
    """There is no mirror here: whoever climbs says so."""
    (tmp_path / "recipes").mkdir()
    places = Places(
        store=str(tmp_path / "store"), cache=tmp_path / "c", recipes=tmp_path / "recipes", scratch=tmp_path / "s"
    )
    how = CheckSettings(sandbox=SandboxKind.PROCESS, trusted=True)
    instance = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances[0]
    unit, store = OfInstance(snapshot="demo", instance_id=instance.instance_id), Store(places.store)
    row = environment_row(env_id=EnvId("e" * 32), repo=RepoName("a/b"), python="3.9", python_full="3.9.18")
    attempt = _attempt(instance.instance_key, ladder_basis(places, how, instance))
    folder = places.cache / "environments" / row.env_id
    folder.mkdir(parents=True)
    (folder / ROW).write_text("{}")
    store.write([instance])
    store.write([row])
    store.write([replace(attempt, instance_id=instance.instance_id)])
    assert prepare_environment(places, how, unit) == row.env_id

    (folder / ROW).unlink()
    with pytest.raises(NotFound, match="mirror"):
        prepare_environment(places, how, unit)
    assert find_environment(places, how, unit) == row.env_id, "another machine has it"
    found = InEnvironment(snapshot=unit.snapshot, instance_id=unit.instance_id, env_id=row.env_id)
    assert not has_environment(places, found)
    (folder / ROW).write_text("{}")
    assert has_environment(places, found)
    with pytest.raises(InfrastructureError, match=r"comes to e{32} now"):
        build_again(places, how, replace(found, env_id=EnvId("f" * 32)))
    later = replace(attempt, instance_id=instance.instance_id, env_id=None, tried_at=datetime(2026, 1, 2, tzinfo=UTC))
    store.write([later])
    with pytest.raises(NotFound, match="mirror"):
        prepare_environment(places, how, unit)
    store.write([replace(later, env_id=row.env_id, basis="another", tried_at=datetime(2026, 1, 3, tzinfo=UTC))])
    with pytest.raises(NotFound, match="mirror"):
        prepare_environment(places, how, unit)


def _attempt(instance_key: InstanceKey, basis: str) -> EnvironmentAttempt:
    return EnvironmentAttempt(
        instance_key=instance_key,
        instance_id=InstanceId(""),
        rung="recipe",
        env_id=EnvId("e" * 32),
        error="",
        seconds=1.0,
        tried_at=datetime(2026, 1, 1, tzinfo=UTC),
        basis=basis,
    )
