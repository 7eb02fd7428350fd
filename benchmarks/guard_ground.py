"""What benchmarks of the guards need of one instance: its runs, suites and edits, with secrets that come again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tasks.evaluate.guard_edits import guard_edits

from benchmarks.second_corpus import Trick, known_of, suite_patch
from flows.environments import check_settings
from flows.evaluation import run_settings
from flows.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.sandbox.bases import Bases
from tasks.adapters.sandbox.pick import swept
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.domain.candidate import Candidate, Suite
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.names import InstanceId, MethodName, SnapshotName
from tasks.domain.outcome import Policy, RunStatus, SandboxKind
from tasks.domain.run import RunSpec
from tasks.domain.undone import OfInstance
from tasks.environment.task import prepare_environment
from tasks.evaluate.execute import Recorded, Workshop, execute
from tasks.evaluate.plan import Bench
from tasks.evaluate.policy import Ruling, submit
from tasks.evaluate.task import bench_of, choose_instances

TRIES = 3
"""Of a run that ends through a fault of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the runs of one instance need."""

    bench: Bench
    workshop: Workshop
    mirrors: Mirrors
    made: dict[int, tuple[GuardEdit, ...]] = field(default_factory=dict)
    """By secret: several suites of an instance are run with the same ones, and making them takes seconds."""

    @property
    def number(self) -> int:
        """Of the pull request, in the instance's name."""
        return int(self.bench.instance.instance_id.rpartition("-")[2])

    def recorded(self, spec: RunSpec) -> Recorded:
        """A run, made again where it ended through a fault of ours, as a flow does: honest work would look refused."""
        for _ in range(TRIES):
            made = execute(spec, self.workshop)
            if made.run.status is not RunStatus.INFRASTRUCTURE:
                break
        return made

    def tricks(self, tricks: Iterable[Trick]) -> Suite:
        """Their suite, of which the policy strips nothing."""
        ruling = self._ruling(self.patch(tricks))
        assert ruling.suite, ruling.submission.detail
        assert not ruling.submission.stripped, ruling.submission.stripped
        return ruling.suite

    def patch(self, tricks: Iterable[Trick]) -> str:
        """What adds them and what they know of the instance."""
        instance = self.bench.instance
        paths = self.mirrors.list_paths(instance.repo, instance.base_commit)
        return suite_patch(tricks, known_of(instance, self.read_base, paths, self.bench.environment.source_roots))

    def read_base(self, path: str) -> bytes | None:
        instance = self.bench.instance
        return self.mirrors.read_file(instance.repo, instance.base_commit, path)

    def suite(self, patch: str) -> Suite:
        """As the policy takes it: it raises where any of it would be stripped."""
        ruling = self._ruling(patch)
        assert ruling.suite, ruling.submission.detail
        return ruling.suite

    def taken(self, patch: str) -> Suite | None:
        """What the policy makes of it; null where that is nothing."""
        return self._ruling(patch).suite

    def _ruling(self, patch: str) -> Ruling:
        instance = self.bench.instance
        candidate = Candidate(
            candidate_id=Candidate.id_of(instance.instance_key, "trick", None, 0, patch),
            snapshot=instance.snapshot,
            instance_id=instance.instance_id,
            instance_key=instance.instance_key,
            method=MethodName("trick"),
            model=None,
            sample=0,
            patch=patch,
            provenance="self_reported",
            source="",
            problem="",
            created_at=instance.created_at or datetime.now(UTC),
        )
        return submit(candidate, None, Policy.TESTS_ONLY, self.read_base)

    def edits(self, secret: int) -> tuple[GuardEdit, ...]:
        if secret not in self.made:
            instance = self.bench.instance
            paths = self.mirrors.list_paths(instance.repo, instance.base_commit)
            self.made[secret] = guard_edits(instance, self.read_base, paths, drawn(secret, instance.instance_id))
        return self.made[secret]


def drawn(secret: int, *what: object) -> str:
    """A secret as the product draws it, the same in every call."""
    return hashlib.sha256(repr((secret, *what)).encode()).hexdigest()[:32]


def ground_of(settings: Settings, snapshot: str, name: str, sandbox: SandboxKind | None) -> Ground:
    """`NotFound` for an instance that its snapshot does not have, `BuildFailed` where it has no environment."""
    places, unit = settings.places, OfInstance(snapshot=SnapshotName(snapshot), instance_id=InstanceId(name))
    choose_instances(places, snapshot, [name])
    env_id = prepare_environment(places, check_settings(settings), unit)
    how = replace(run_settings(settings, coverage=False), sandbox=sandbox, trusted=True)
    bench = bench_of(places, how, snapshot, unit.instance_id, env_id)
    mirrors = Mirrors(places.mirrors)
    box = swept(sandbox, trusted=True, base=places.scratch)
    return Ground(
        bench=bench,
        workshop=Workshop(
            trees=Trees(mirrors, places.trees),
            sandbox=box,
            bases=Bases(places.bases) if box.overlays(places.bases) else None,
            environment=lambda spec: installed(
                places.cache,
                bench.environment,
                machine_interpreters(places.cache),
                spec.base_commit,
                spec.built_patches,
            ),
            scratch=places.scratch,
            config={},
        ),
        mirrors=mirrors,
    )
