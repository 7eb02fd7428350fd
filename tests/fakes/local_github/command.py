"""The local GitHub as a command: opens repositories, listens, and goes on until it is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TypeVar

from tasks.adapters.git.mirrors import Mirrors
from tasks.domain.errors import BadInput
from tests.fakes.local_github.faults import dice_from
from tests.fakes.local_github.hub import Hub
from tests.fakes.local_github.server import listening
from tests.fakes.local_github.world import LocalRepository, World, open_repository

Item = TypeVar("Item")
_NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubRequest:
    """What is to be served. The lists beside `repos` are empty, or have one entry for each of them."""

    repos: tuple[str, ...]
    git: tuple[Path, ...] = ()
    """Where empty, the mirrors of the cache are served."""
    issues: tuple[str, ...] = ()
    licenses: tuple[str, ...] = ()
    until: str = ""
    faults: str = ""
    port: int = 0


def hub_for(mirrors: Path, scratch: Path, request: GitHubRequest, say: Callable[[str], object]) -> Hub:
    """Index everything that is to be served; `mirrors` is the folder of mirrors.

    `BadInput` or `NotFound` where something does not fit or is not there.
    """
    git = _matching("--git", request, request.git) or [Mirrors(mirrors).path(repo) for repo in request.repos]
    issues = _matching("--issues", request, request.issues) or [_NONE] * len(request.repos)
    licenses = _matching("--license", request, request.licenses) or [_NONE] * len(request.repos)
    held: dict[str, LocalRepository] = {}
    for repo, folder, file, spdx in zip(request.repos, git, issues, licenses, strict=True):
        path = None if file == _NONE else Path(file)
        held[repo] = open_repository(
            repo, folder, issues=path, scratch=scratch / "dev-github", license=None if spdx == _NONE else spdx
        )
        say(f"{repo}: {len(held[repo].pulls)} merged pull requests, {len(held[repo].issues)} issues")
    return Hub(World(held, until=_moment(request.until)), dice=dice_from(request.faults))


def serve_github(mirrors: Path, scratch: Path, request: GitHubRequest, say: Callable[[str], object]) -> None:
    """Serve until interrupted."""
    with listening(hub_for(mirrors, scratch, request, say), request.port) as url, suppress(KeyboardInterrupt):
        say(f"listening: set SWT_GITHUB_URL={url}/graphql and any SWT_GITHUB_TOKENS")
        Event().wait()


def _matching(option: str, request: GitHubRequest, given: Sequence[Item]) -> list[Item]:
    """One entry for each repository, or none at all."""
    if given and len(given) != len(request.repos):
        message = f"{len(request.repos)} --repo need as many {option}, not {len(given)}"
        raise BadInput(message, hint=f"give {option} once for each --repo, in the same order")
    return list(given)


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"--until {text!r} is no date", hint="write it as 2026-01-31 or 2026-01-31T00:00:00Z") from error
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when
