"""Each method of ours on ten real instances, each with another branch; `-s` prints the path taken for each.

Needs ../shared/data, and a cache with mirrors (`swt repo add`): this checkout's own, or that of SWT_TEST_CACHE. The
instances' environments are taken from it, or built there.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from branches import BRANCHES, edit, follows

from tasks.adapters.git.histories import Histories
from tasks.adapters.git.history import CommitHistory
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.sandbox.select import pick
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.workbench.local import LocalWorkbench, WorkspaceConfig
from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.places import Places
from tasks.domain.undone import OfInstance
from tasks.environment.task import CheckSettings, prepare_environment
from tasks.generate.registry import method_named
from tasks.generate.task import GenerationSettings, MethodWork, generate
from tasks.methods.briefing import brief
from tasks.methods.method import Assignment, ContextFile
from tasks.scrape.dataset_rows import import_instances
from tests.fakes.contract import BUDGET
from tests.fakes.scripted_model import Scripted
from tests.fakes.toy_tasks import LIMITS

PROJECT = Path(__file__).parents[2]
ROWS = PROJECT.parent / "shared" / "data" / "swe-bench-lite.dev.jsonl"
CACHE = Path(os.environ.get("SWT_TEST_CACHE", PROJECT / "data" / "cache")).absolute()
SMALL = ("pallets/flask", "psf/requests", "pylint-dev/pylint", "pytest-dev/pytest", "pydata/xarray")
INSTANCES = 10
SNAPSHOT = "lite"
pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.skipif(not ROWS.is_file(), reason="../shared/data is not there"),
]


class Place:
    """Benches for real instances in their own environments; of the cache, mirrors are only read."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(
            store=str(folder / "store"), cache=CACHE, recipes=PROJECT / "data" / "environments", scratch=folder
        )
        self.store = Store(self.places.store)
        self.mirrors = Mirrors(self.places.mirrors)
        self.trees = Trees(self.mirrors, folder / "trees")
        self.histories = Histories(self.trees)
        self.sandbox = pick(None, trusted=True, base=folder)

    def environment(self, instance: TaskInstance) -> Environment:
        """Built, and in the store."""
        self.store.write([instance])
        unit = OfInstance(snapshot=SNAPSHOT, instance_id=instance.instance_id)
        env_id = prepare_environment(self.places, CheckSettings(), unit)
        (row,) = self.store.read(Environment, env_id=env_id)
        return row

    def assignment(self, instance: TaskInstance) -> Assignment:
        read = partial(self.mirrors.read_file, instance.repo, instance.base_commit)
        paths = self.mirrors.list_paths(instance.repo, instance.base_commit)
        history = CommitHistory(self.mirrors, instance.repo, instance.base_commit)
        task = brief(instance, self.environment(instance), paths, read, history)
        assert task.example is not None
        return Assignment(task=task, context=(ContextFile(path=task.example.path, text=task.example.text),))

    def bench(self, instance: TaskInstance) -> LocalWorkbench:
        repo, sha = instance.repo, instance.base_commit
        environment = self.environment(instance)
        supplies = WorkspaceConfig(
            paths=self.mirrors.list_paths(repo, sha),
            read_base=partial(self.mirrors.read_file, repo, sha),
            fill=partial(self.trees.checkout, repo, sha),
            fill_for_shell=partial(self.histories.checkout, repo, sha),
            environment=lambda: installed(CACHE, environment, machine_interpreters(), instance.base_commit),
            sandbox=self.sandbox,
            scratch=self.places.scratch / "scratch",
            limits=LIMITS,
        )
        return LocalWorkbench(supplies)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def instances() -> list[TaskInstance]:
    found = [one for one in import_instances(ROWS, snapshot=SNAPSHOT).instances if one.repo in SMALL and mirrored(one)]
    if len(found) < INSTANCES:
        pytest.skip(f"fewer than {INSTANCES} mirrored instances in {CACHE}")
    return found[:INSTANCES]


def mirrored(instance: TaskInstance) -> bool:
    return (CACHE / "mirrors" / f"{instance.repo.replace('/', '__')}.git").is_dir()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", sorted(BRANCHES))
def test_ten_instances(name: str, place: Place, instances: list[TaskInstance]) -> None:
    for number, instance in enumerate(instances):
        assignment = place.assignment(instance)
        branches = BRANCHES[name](assignment)
        branch = branches[number % len(branches)]
        with place.bench(instance) as bench:
            made = list(method_named(name).run(assignment, bench, Scripted(branch.script), BUDGET))
            for proposal in made:
                if proposal.rung:
                    read = read_patch(proposal.patch)
                    assert isinstance(read, Patch)
                    assert isinstance(apply_to_files(read, bench.base), Applied)
        path = tuple(step for proposal in made for step in proposal.path)
        print(f"{name} | {instance.instance_id} | {branch.name} | {' '.join(shorter(path))}")
        assert follows(path, branch.path), (instance.instance_id, branch.name, path)
        assert any(proposal.patch for proposal in made) == branch.patch


PROBE = """
import sys


def test_issue():
    assert sys.prefix == "elsewhere", sys.version_info[:2]
"""
VERDICT = '{"reason": "it says where it ran", "same_problem": true}'


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["pallets__flask-5063", "pylint-dev__pylint-7993"])
def test_what_libro_runs_runs_in_the_environment_of_the_instance(name: str, place: Place) -> None:
    """The stage's task as a sweep calls it; the judge is shown what the sample's failure says of its interpreter."""
    (instance,) = [one for one in import_instances(ROWS, snapshot=SNAPSHOT).instances if one.instance_id == name]
    if not mirrored(instance):
        pytest.skip(f"no mirror of {instance.repo} in {CACHE}")
    environment = place.environment(instance)
    model = Scripted(lambda asked: VERDICT if "same_problem" in asked.last else edit("tests/test_place.py", PROBE))
    work = MethodWork(
        snapshot=SNAPSHOT,
        instance_id=instance.instance_id,
        env_id=environment.env_id,
        method="libro",
        model="scripted",
    )
    done = generate(place.places, GenerationSettings(trusted=True), lambda _work, _key: model, work)
    assert (done.proposed, done.left) == (1, ())
    (judged,) = [asked.last for asked in model.asked if "same_problem" in asked.last]
    print(f"{name} | CPython {environment.python} | {environment.env_id}")
    assert f"/environments/{environment.env_id}" in judged
    assert str(tuple(map(int, environment.python.split(".")[:2]))) in judged


def shorter(path: tuple[str, ...]) -> list[str]:
    """Runs of one step as `step×n`."""
    said: list[tuple[str, int]] = []
    for step in path:
        if said and said[-1][0] == step:
            said[-1] = (step, said[-1][1] + 1)
        else:
            said.append((step, 1))
    return [step if count == 1 else f"{step}×{count}" for step, count in said]
