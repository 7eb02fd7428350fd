from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tasks.domain.places import Places
from tasks.environment.task import CheckSettings, climb_for
from tasks.rehearsal.demo_history import build_mirror
from tasks.scrape.swe_bench_rows import import_instances

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
