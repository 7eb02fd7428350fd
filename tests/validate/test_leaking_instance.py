"""Leaks planted for real, in the cached tree of a checkout and in a built environment: found, on record, and said."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.adapters.git.histories import Histories
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.apply import apply_patch
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.demo.history import build_mirror
from tasks.domain.guards import Leak, LeakAudit
from tasks.domain.names import EnvId
from tasks.domain.places import Places
from tasks.domain.validation import InvalidReason, Validation
from tasks.scrape.dataset_rows import import_instances
from tasks.validate.task import LeakLook, ToJudge, audit_instance, judge_instances

DEMO = Path(__file__).parents[2] / "data" / "demo"
BUILT = EnvId("built")


class Desk:
    """The demo's first instance with a built environment of its own."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(
            store=str(folder / "store"), cache=folder / "cache", recipes=folder, scratch=folder / "scratch"
        )
        self.store = Store(self.places.store)
        self.instance = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances[0]
        self.mirrors = Mirrors(self.places.mirrors)
        self.mirrors.add(self.instance.repo, build_mirror(DEMO, folder / "demo.git"))
        python = machine_interpreters()[0]
        root = self.places.cache / "environments" / BUILT
        self.site = root / "lib" / f"python{python.minor}" / "site-packages"
        self.site.mkdir(parents=True)
        (root / "bin").mkdir()
        (root / "bin" / "python").symlink_to(python.path)
        host = host_environment(self.instance.repo).environment
        self.store.write([self.instance])
        self.store.write([replace(host, env_id=BUILT, recipe="inferred", python_full=python.version)])

    def audit(self) -> str:
        return audit_instance(
            self.places, LeakLook(snapshot="demo", instance_id=self.instance.instance_id, env_id=BUILT)
        )

    def judge(self, leak: str) -> Validation:
        asked = ToJudge(instance_id=self.instance.instance_id, env_id=BUILT, leak=leak)
        (row,) = judge_instances(self.places, "demo", (asked,))
        return row


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def fixed_file(desk: Desk, folder: Path) -> bytes:
    """The first source file of the instance as its fix leaves it."""
    Histories(Trees(desk.mirrors, folder / "trees")).checkout(
        desk.instance.repo, desk.instance.base_commit, folder / "fixed"
    )
    applied = apply_patch(folder / "fixed", desk.instance.patch)
    return (folder / "fixed" / applied.changes[0].path).read_bytes()


def add_to_cached_tree(desk: Desk, name: str, data: bytes) -> None:
    """Put a file into the archive that every checkout of the base commit comes from."""
    (archive,) = desk.places.trees.glob(f"*-{desk.instance.base_commit}.tar")
    with tarfile.open(archive, "a") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))


def test_a_clean_instance_says_nothing_and_is_on_record(desk: Desk) -> None:
    assert desk.audit() == ""
    assert [row.blocked for row in desk.store.read(LeakAudit)] == [False]


def test_the_fix_in_the_checkout_is_the_reason(desk: Desk, tmp_path: Path) -> None:
    assert desk.audit() == ""
    add_to_cached_tree(desk, "notes.py", fixed_file(desk, tmp_path))

    said = desk.audit()
    row = desk.judge(said)

    assert said == "1 leaks, first files/fix at notes.py: a file as the fix leaves it"
    assert (row.valid, row.reason, row.detail) == (False, InvalidReason.LEAK, said)
    assert desk.store.read(Validation) == (row,)
    assert [row.blocked for row in sorted(desk.store.read(LeakAudit), key=lambda row: row.audited_at)] == [False, True]


def test_a_later_release_in_the_environment_is_the_reason(desk: Desk) -> None:
    tree = desk.site.parents[3] / "tree"
    Trees(desk.mirrors, desk.places.trees).checkout(desk.instance.repo, desk.instance.base_commit, tree)
    (tree / "larder").rename(desk.site / "larder")

    said = desk.audit()

    assert said.startswith(f"1 leaks, first environment/project-copy at {desk.site / 'larder'}")
    assert desk.judge(said).reason is InvalidReason.LEAK
    assert {row.rule for row in desk.store.read(Leak)} == {"project-copy"}
