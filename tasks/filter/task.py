"""Filter: pull requests become candidates for instances, or rows that say why not.

Reads `pull_request`, `issue`, `issue_link`, `sync_state`, a mirror; writes `pull_base`, `rejection`, `task_instance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.adapters.git.changes import Changes
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.tables.store import Store
from tasks.domain.collect import Issue, IssueLink, PullBase, PullRequest, Rejection, Repository, RepositoryState
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, RepoName, repo_folder
from tasks.domain.places import Places
from tasks.domain.scraping import PULL_REQUEST_PAGES, SyncState
from tasks.domain.undone import OfRepository
from tasks.filter.rules import RuleLimits
from tasks.filter.screen import Material, screen


@dataclass(frozen=True, slots=True, kw_only=True)
class ToFilter(OfRepository):
    """One repository's pull requests, to be held against the rules."""

    repository: Repository
    limits: RuleLimits
    snapshot: str
    """Where those that pass become rows."""

    @property
    def scope(self) -> str:
        return self.snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """What one repository's pull requests came to."""

    repo: RepoName
    pulls: int
    proved: int
    """Pull requests whose base commit is proved."""
    rejected: int
    instances: tuple[InstanceId, ...]
    """Those that passed every rule, still to be validated."""


def filter_pull_requests(places: Places, unit: ToFilter) -> Filtered:
    """All pull requests of one repository through all rules.

    Asked again after more was collected, it replaces what it wrote. `NotFound` where there is no mirror.
    """
    repository, store = unit.repository, Store(places.store)
    material = Material(
        repository=repository,
        pulls=store.read(PullRequest, repo=repository.repo),
        issues=store.read(Issue, repo=repository.repo),
        links=store.read(IssueLink, repo=repository.repo),
        states=store.read(RepositoryState, repo=repository.repo),
        since=_asked_since(store, repository.repo),
    )
    done = screen(material, Changes(Mirrors(places.mirrors), repository.repo), unit.limits, snapshot=unit.snapshot)
    key, repo = f"filtered-{repo_folder(repository.repo)}", repository.repo
    store.replace(TaskInstance, done.instances, key=f"{key}-{unit.snapshot}", snapshot=unit.snapshot, repo=repo)
    store.replace(Rejection, done.rejections, key=key, repo=repo)
    store.replace(PullBase, done.bases, key=key, repo=repo)  # last: what has a base has been through the rules
    return Filtered(
        repo=repository.repo,
        pulls=len(done.bases),
        proved=sum(bool(base.base_verified) for base in done.bases),
        rejected=len({row.number for row in done.rejections}),
        instances=tuple(instance.instance_id for instance in done.instances),
    )


def _asked_since(store: Store, repo: RepoName) -> datetime | None:
    """The earliest day that a sync was asked to go back to. A later one leaves the pool's older instances in it."""
    states = store.read(SyncState, repo=repo, kind=PULL_REQUEST_PAGES)
    return states[0].window if states else None
