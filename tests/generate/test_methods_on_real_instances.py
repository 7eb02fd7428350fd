"""Each method of ours on ten real instances, each with another branch; `-s` prints the path taken for each.

Needs ../shared/data and mirrors in the cache (`swt repo add`), or clones named by SWT_TEST_MIRRORS. Tests that LIBRO
runs do so on this interpreter, where the repositories' own dependencies are not: that a new test fails is all it needs.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from branches import BRANCHES, follows

from tasks.adapters.git.histories import Histories
from tasks.adapters.git.history import CommitHistory
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.llm.scripted import Scripted
from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.sandbox.pick import pick
from tasks.adapters.uv.host import host_environment
from tasks.adapters.workbench.local import LocalWorkbench, Supplies
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoName
from tasks.generate.briefing import brief
from tasks.generate.contract import BUDGET
from tasks.generate.method import Assignment, ContextFile
from tasks.generate.registry import method_named
from tasks.generate.toys import LIMITS
from tasks.scrape.swe_bench_rows import import_instances

PROJECT = Path(__file__).parents[2]
ROWS = PROJECT.parent / "shared" / "data" / "swe-bench-lite.dev.jsonl"
MIRRORS = Path(os.environ.get("SWT_TEST_MIRRORS", PROJECT / "data" / "cache" / "mirrors"))
SMALL = ("pallets/flask", "psf/requests", "pylint-dev/pylint", "pytest-dev/pytest", "pydata/xarray")
INSTANCES = 10
NOT_HERE = {("libro", "passing"): ("chose 4",)}
"""Where a repository's conftest.py cannot be imported on this interpreter, a test that would pass fails as well."""
pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(not ROWS.is_file(), reason="../shared/data is not there"),
]


class Place:
    """Benches for real instances, on mirrors that are only read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mirrors = Mirrors(MIRRORS)
        self.trees = Trees(self.mirrors, folder / "trees")
        self.histories = Histories(self.trees)
        self.sandbox = pick(None, trusted=True, base=folder)

    def assignment(self, instance: TaskInstance) -> Assignment:
        read = partial(self.mirrors.read_file, instance.repo, instance.base_commit)
        paths = self.mirrors.list_paths(instance.repo, instance.base_commit)
        history = CommitHistory(self.mirrors, instance.repo, instance.base_commit)
        row = host_environment(instance.repo).environment
        task = brief(instance, row, paths, read, history)
        assert task.example is not None
        return Assignment(task=task, context=(ContextFile(path=task.example.path, text=task.example.text),))

    def bench(self, instance: TaskInstance) -> LocalWorkbench:
        repo, sha = instance.repo, instance.base_commit
        supplies = Supplies(
            paths=self.mirrors.list_paths(repo, sha),
            read_base=partial(self.mirrors.read_file, repo, sha),
            fill=partial(self.trees.checkout, repo, sha),
            fill_for_shell=partial(self.histories.checkout, repo, sha),
            environment=lambda: host_environment(RepoName(repo)),
            sandbox=self.sandbox,
            scratch=self.folder / "scratch",
            limits=LIMITS,
        )
        return LocalWorkbench(supplies)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def instances() -> list[TaskInstance]:
    found = [one for one in import_instances(ROWS, snapshot="lite").instances if one.repo in SMALL and mirrored(one)]
    if len(found) < INSTANCES:
        pytest.skip(f"fewer than {INSTANCES} mirrored instances in {MIRRORS}")
    return found[:INSTANCES]


def mirrored(instance: TaskInstance) -> bool:
    return (MIRRORS / f"{instance.repo.replace('/', '__')}.git").is_dir()


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
        steps = NOT_HERE.get((name, branch.name), branch.path)
        assert follows(path, steps), (instance.instance_id, branch.name, path)
        assert any(proposal.patch for proposal in made) == branch.patch


def shorter(path: tuple[str, ...]) -> list[str]:
    """Runs of one step as `step×n`."""
    said: list[tuple[str, int]] = []
    for step in path:
        if said and said[-1][0] == step:
            said[-1] = (step, said[-1][1] + 1)
        else:
            said.append((step, 1))
    return [step if count == 1 else f"{step}×{count}" for step, count in said]
