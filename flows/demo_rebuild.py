"""The demo's rolling rebuild: the bundled project's history served as GitHub would, collected, validated, published."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from flows.parameters import RebuildRequest
from flows.rebuild import RebuildSummary, rebuild_here
from flows.settings import Settings
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.serve import listening
from tasks.rehearsal.local_github.world import World, open_repository
from tasks.scrape.repositories import read_repositories
from tasks.scrape.task import TOKEN_VARIABLES

SNAPSHOT = "demo-rebuilt"
NEWEST = 4
"""Instances that the demo validates: two that are fit, the flaky one and the broken one."""


def rebuild_demo(settings: Settings, demo: Path, mirror: Path) -> RebuildSummary:
    """Rebuild from `mirror` through a GitHub on this machine, whose issues are those of the demo."""
    repositories = demo / "repositories.toml"
    (repository,) = read_repositories(repositories)
    scratch = settings.scratch / "demo-github"
    served = open_repository(repository.repo, mirror, issues=demo / "issues.jsonl", scratch=scratch, license="MIT")
    os.environ.setdefault(TOKEN_VARIABLES[0], "any-token-will-do-for-the-demo")
    with listening(Hub(World({repository.repo: served}))) as address:
        url = f"{address}/graphql"
        request = RebuildRequest(
            snapshot=SNAPSHOT, repositories_file=repositories, limit=NEWEST, git="", unchanged=True
        )
        return rebuild_here(request, replace(settings, github=url))
