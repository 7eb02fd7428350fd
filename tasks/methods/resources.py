"""Resources for the work on one instance: files of the base commit, and the configuration of a workbench."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol

from tasks.adapters.git.commits import Commits
from tasks.adapters.git.histories import Histories
from tasks.adapters.git.history import CommitHistory
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.leaks.look import look_for_leaks
from tasks.adapters.sandbox.select import swept
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.adapters.workbench.local import WorkspaceConfig
from tasks.domain.environment import Environment
from tasks.domain.guards import LeakAudit
from tasks.domain.instance import TaskInstance
from tasks.domain.outcome import SandboxKind
from tasks.domain.places import Places
from tasks.domain.run import Limits
from tasks.methods.method import ContextFile


class ExecutionSettings(Protocol):
    """Settings of a stage that affect how code runs."""

    @property
    def sandbox(self) -> SandboxKind | None: ...
    @property
    def trusted(self) -> bool: ...
    @property
    def limits(self) -> Limits: ...


@dataclass(frozen=True, kw_only=True)
class InstanceResources:
    """Resources of one instance in one environment. Raises `NotFound` on first use if the mirror or the commit is
    missing."""

    places: Places
    instance: TaskInstance
    environment: Environment
    sandbox: SandboxKind | None = None
    """Sandbox for code; None selects the best available one."""
    trusted: bool = False
    """Whether the code under test may run without isolation."""
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(
        cls, places: Places, how: ExecutionSettings, instance: TaskInstance, environment: Environment
    ) -> InstanceResources:
        """Returns the resources with the settings of a stage."""
        return cls(
            places=places,
            instance=instance,
            environment=environment,
            sandbox=how.sandbox,
            trusted=how.trusted,
            limits=how.limits,
        )

    @cached_property
    def mirrors(self) -> Mirrors:
        return Mirrors(self.places.mirrors)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Every file of the base commit."""
        return self.mirrors.list_paths(self.instance.repo, self.instance.base_commit)

    def read(self, path: str) -> bytes | None:
        """Returns a file of the base commit; None if there is no such file."""
        return self.mirrors.read_file(self.instance.repo, self.instance.base_commit, path)

    @property
    def history(self) -> CommitHistory:
        return CommitHistory(self.mirrors, self.instance.repo, self.instance.base_commit)

    def files(self, paths: Iterable[str]) -> tuple[ContextFile, ...]:
        """Returns the paths that are files of the base commit, with their text."""
        found = ((path, self.read(path)) for path in paths)
        return tuple(ContextFile(path=p, text=data.decode("utf-8", "replace")) for p, data in found if data is not None)

    def built(self) -> BuiltEnvironment:
        cache = self.places.cache
        return installed(cache, self.environment, machine_interpreters(cache), self.instance.base_commit)

    def supplies(self) -> WorkspaceConfig:
        """Returns the configuration of a workbench for the base commit."""
        repo, sha = self.instance.repo, self.instance.base_commit
        trees = Trees(self.mirrors, self.places.trees)
        return WorkspaceConfig(
            paths=self.paths,
            read_base=self.read,
            fill=partial(Commits(trees).checkout, repo, sha),
            fill_for_shell=partial(Histories(trees).checkout, repo, sha),
            environment=self.built,
            sandbox=swept(self.sandbox, trusted=self.trusted, base=self.places.scratch),
            scratch=self.places.scratch,
            limits=self.limits,
            agents=self.places.agents,
        )

    def pass_gate(self, store: Store) -> None:
        """Audit checkout and environment for leaks unless the last audit was clean. Raises `LeakFound` if they leak."""
        key, env_id = self.instance.instance_key, self.environment.env_id
        looks = store.read(LeakAudit, instance_key=key, env_id=env_id)
        if looks and not max(looks, key=lambda row: row.audited_at).blocked:
            return
        look_for_leaks(self.places, self.instance, self.built()).refuse()
