"""Published golden patches and predictions on the real base commits: what git applies we apply, on the first rung.

Needs ../shared/data and mirrors in the cache (`swt repo add`), or clones named by SWT_TEST_MIRRORS.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch, Rung
from tasks.adapters.patch.read import read_patch

PROJECT = Path(__file__).parents[3]
DATA = PROJECT.parent / "shared" / "data"
MIRRORS = Mirrors(Path(os.environ.get("SWT_TEST_MIRRORS", PROJECT / "data" / "cache" / "mirrors")))
pytestmark = [pytest.mark.real, pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not there")]


def rows(pattern: str) -> Iterator[dict[str, str]]:
    for path in sorted(DATA.glob(pattern)):
        yield from map(json.loads, path.read_text().splitlines())


@pytest.fixture(scope="module")
def instances() -> dict[str, dict[str, str]]:
    found = {row["instance_id"]: row for row in rows("swe-bench-*.dev.jsonl") if _mirrored(row["repo"])}
    if not found:
        pytest.skip(f"no mirror of their repositories in {MIRRORS.root}")
    return found


def _mirrored(repo: str) -> bool:
    return (MIRRORS.root / f"{repo.replace('/', '__')}.git").is_dir()


def outcome(instance: dict[str, str], text: str) -> str:
    """The rung, or the reason of a refusal; what applies has a normal form that applies exactly."""
    read = read_patch(text)
    if not isinstance(read, Patch):
        return read.reason
    read_base = partial(MIRRORS.read_file, instance["repo"], instance["base_commit"])
    applied = apply_to_files(read, read_base)
    if not isinstance(applied, Applied):
        return applied.reason
    again = read_patch(applied.patch)
    assert isinstance(again, Patch)
    repeated = apply_to_files(again, read_base)
    assert isinstance(repeated, Applied)
    assert (repeated.rung, repeated.changes) == (Rung.EXACT, applied.changes)
    return applied.rung


@pytest.mark.parametrize("side", ["patch", "test_patch"])
def test_every_golden_patch_applies_exactly(instances: dict[str, dict[str, str]], side: str) -> None:
    found = {name: outcome(row, row[side]) for name, row in instances.items()}
    assert {name: rung for name, rung in found.items() if rung != Rung.EXACT} == {}


def test_every_published_prediction_applies_exactly(instances: dict[str, dict[str, str]]) -> None:
    found = Counter(
        outcome(instances[row["instance_id"]], row["model_patch"])
        for row in rows("predictions.*.dev.jsonl")
        if row["instance_id"] in instances
    )
    assert set(found) == {Rung.EXACT}
