"""The demo's history is the same everywhere, and broken text is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tasks.adapters.git.command import GitFailed
from tasks.demo.history import HISTORY, build_mirror
from tasks.domain.errors import NotFound
from tasks.scrape.dataset_rows import import_instances


def git(mirror: Path, *args: str) -> str:
    done = subprocess.run(["git", "--git-dir", mirror, *args], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_ends_at_the_commit_that_the_readme_names(mirror: Path, demo: Path) -> None:
    assert f"`{git(mirror, 'rev-parse', 'HEAD')}`" in (demo / "README.md").read_text()


def test_every_base_commit_is_in_it_with_its_fix_after_it(mirror: Path, demo: Path) -> None:
    for instance in import_instances(demo / "instances.jsonl", snapshot="demo").instances:
        later = git(mirror, "log", "--format=%s", f"{instance.base_commit}..main")
        assert f"(#{instance.instance_id.rpartition('-')[2]})" in later.splitlines()[-1]


def test_everybody_in_it_is_invented(mirror: Path) -> None:
    people = git(mirror, "log", "--format=%an <%ae>%n%cn <%ce>", "main").splitlines()
    assert set(people) == {"Demo Author <demo@example.invalid>", "demo-updates[bot] <bot@example.invalid>"}


def test_existing_mirror_is_left_alone(mirror: Path, demo: Path) -> None:
    before = mirror.stat().st_mtime_ns
    assert build_mirror(demo, mirror) == mirror
    assert mirror.stat().st_mtime_ns == before


def test_cut_history_is_refused_and_leaves_nothing(tmp_path: Path, demo: Path) -> None:
    (tmp_path / "demo").mkdir()
    shutil.copy(demo / HISTORY, tmp_path / "demo" / HISTORY)
    text = (demo / HISTORY).read_bytes()
    (tmp_path / "demo" / HISTORY).write_bytes(text[: len(text) // 2])
    with pytest.raises(GitFailed):
        build_mirror(tmp_path / "demo", tmp_path / "larder.git")
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_missing_history(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=HISTORY):
        build_mirror(tmp_path, tmp_path / "larder.git")


def test_whole_demo_is_small(demo: Path) -> None:
    assert sum(path.stat().st_size for path in demo.iterdir()) < 200_000
