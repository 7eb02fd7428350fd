"""Does a checkout hold anything of the future? Looks at the folder as it is handed to a method.

The argument is closed by two facts: HEAD is the base commit by its hash, and every object in the repository is
reachable from it, so none is later. The other rules say what a leak is called, and find what git does not count as
an object: pointers to other repositories, logs, settings, files that the commit does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tasks.adapters.git.command import Git
from tasks.adapters.patch.render import blob_sha
from tasks.domain.guards import Exposure

SHOWN = 20
"""Objects and files listed per rule; the last one says how many more there are."""

_SETTINGS = ("core.", "gc.", "user.name", "user.email", "extensions.")
_TELLING_SETTINGS = ("core.hookspath", "core.worktree", "core.fsmonitor", "core.attributesfile", "core.excludesfile")
_PLAIN = {"HEAD", "config", "index", "objects", "refs", "shallow", "info", "description", "branches"}
_NAMED = {
    "hooks": "hook",
    "logs": "reflog",
    "worktrees": "worktree",
    "modules": "submodule",
    "packed-refs": "packed-refs",
    "lost-found": "object",
    "commondir": "alternate",
    "gitdir": "alternate",
}
_REF_RULES = (
    ("refs/tags/", "tag"),
    ("refs/remotes/", "remote"),
    ("refs/stash", "stash"),
    ("refs/notes/", "note"),
    ("refs/replace/", "replace"),
)


@dataclass(frozen=True)
class Checkout:
    """A folder as a method would get it."""

    root: Path
    base: str
    """Full name of the base commit."""
    git: Git
    generated: frozenset[str] = frozenset()
    """Files that a build leaves in the checkout: neither in the commit nor a leak."""
    fixed: frozenset[str] = field(default_factory=frozenset)
    """Blobs of the fixed files' after-state, see `blob_sha`."""

    @property
    def folder(self) -> Path:
        """The repository."""
        return self.root / ".git"

    @cached_property
    def reachable(self) -> frozenset[str]:
        """Objects that the base commit needs; empty where the repository lacks it."""
        asked = ("rev-list", "--objects", "--no-object-names", "--end-of-options", self.base)
        done = self.git.attempt(*asked, cwd=self.root)
        return frozenset(done.stdout.decode().split())

    @cached_property
    def objects(self) -> dict[str, str]:
        """Every object in the repository, packed, loose or borrowed, by its type."""
        asked = ("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objecttype)")
        lines = self.git.run(*asked, cwd=self.root).decode().splitlines()
        return dict(line.split(" ", 1) for line in lines)

    @cached_property
    def commits(self) -> int:
        return int(self.git.run("rev-list", "--all", "--count", cwd=self.root))


Rule = Callable[[Checkout], Iterator[Exposure]]


def find_leaks(checkout: Checkout) -> tuple[Exposure, ...]:
    """What is wrong with a checkout; empty for a clean one. `GitFailed` where its repository cannot be read."""
    if not checkout.folder.exists() and not checkout.folder.is_symlink():
        return tuple(_foreign_repositories(checkout))
    if checkout.folder.is_symlink() or not checkout.folder.is_dir():
        return (_leak("alternate", ".git", "points at a repository elsewhere"),)
    return tuple(exposure for rule in RULES for exposure in rule(checkout))


def _leak(rule: str, path: str, detail: str, where: str = "git") -> Exposure:
    return Exposure(where=where, rule=rule, path=path, detail=detail)


def _head(checkout: Checkout) -> Iterator[Exposure]:
    head = checkout.git.attempt("rev-parse", "--verify", "--quiet", "HEAD", cwd=checkout.root).stdout.decode().strip()
    if head != checkout.base:
        yield _leak("head", "HEAD", f"is at {head or 'nothing'}, not at the base commit {checkout.base}")


def _refs(checkout: Checkout) -> Iterator[Exposure]:
    listing = checkout.git.run("for-each-ref", "--format=%(refname) %(objectname)", cwd=checkout.root).decode()
    for name, _, sha in (line.partition(" ") for line in listing.splitlines()):
        rule = next((rule for prefix, rule in _REF_RULES if name.startswith(prefix)), "")
        if rule or sha != checkout.base or not name.startswith("refs/heads/"):
            yield _leak(rule or "ref", name, f"points at {sha}")


def _history(checkout: Checkout) -> Iterator[Exposure]:
    """The gate's own words: as many commits in all as the base commit has."""
    asked = ("rev-list", "--count", "--end-of-options", checkout.base)
    own = checkout.git.attempt(*asked, cwd=checkout.root).stdout.decode().strip()
    if str(checkout.commits) != own:
        yield _leak("history", "--all", f"{checkout.commits} commits in all, the base commit has {own or 'none'}")


def _repository_files(checkout: Checkout) -> Iterator[Exposure]:
    for path in sorted(checkout.folder.iterdir()):
        rule = _NAMED.get(path.name, "leftover")
        if path.name not in _PLAIN and any(file.is_file() or file.is_symlink() for file in (path, *path.rglob("*"))):
            yield _leak(rule, f".git/{path.name}", "a fresh repository has none")
    info = checkout.folder / "info"
    for path in sorted(info.iterdir()) if info.is_dir() else ():
        if path.name not in ("attributes", "exclude"):
            yield _leak("leftover", f".git/info/{path.name}", "a fresh repository has none")


def _alternates(checkout: Checkout) -> Iterator[Exposure]:
    for name in ("alternates", "http-alternates"):
        path = checkout.folder / "objects" / "info" / name
        if path.exists():
            yield _leak("alternate", f".git/objects/info/{name}", path.read_text(errors="replace").strip())
    links = [path for path in checkout.folder.rglob("*") if path.is_symlink()]
    for path in links:
        yield _leak("alternate", str(path.relative_to(checkout.root)), f"is a link to {path.readlink()}")


def _settings(checkout: Checkout) -> Iterator[Exposure]:
    listing = checkout.git.run("config", "--local", "--null", "--list", cwd=checkout.root).decode("utf-8", "replace")
    for name, _, value in (item.partition("\n") for item in listing.split("\0") if item):
        if name.startswith("remote.") or name.startswith("branch."):
            yield _leak("remote", name, value)
        elif not name.startswith(_SETTINGS) or name in _TELLING_SETTINGS:
            yield _leak("setting", name, value)


def _objects(checkout: Checkout) -> Iterator[Exposure]:
    """Objects that the base commit does not need; those of the fix are called so."""
    strange = sorted(checkout.objects.keys() - checkout.reachable)
    fixed = [sha for sha in strange if sha in checkout.fixed]
    for sha in fixed:
        yield _leak("fix", sha, "a file as the fix leaves it is among the objects")
    others = [sha for sha in strange if sha not in checkout.fixed]
    for sha in others[:SHOWN]:
        yield _leak("object", sha, f"a {checkout.objects[sha]} that the base commit does not need")
    if len(others) > SHOWN:
        yield _leak("object", "…", f"{len(others) - SHOWN} more")


def _files(checkout: Checkout) -> Iterator[Exposure]:
    """What differs from the commit: files that it lacks, ignored ones too, and files that were changed."""
    asked = ("status", "--porcelain=v1", "-z", "--ignored=matching", "--untracked-files=all", "--no-renames")
    lines = checkout.git.run(*asked, cwd=checkout.root).decode("utf-8", "surrogateescape").split("\0")
    found = [(line[:2], line[3:]) for line in lines if line and line[3:] not in checkout.generated]
    for state, path in found[:SHOWN]:
        yield _strange_file(checkout, state, path)
    if len(found) > SHOWN:
        yield _leak("file", "…", f"{len(found) - SHOWN} more", "files")


def _strange_file(checkout: Checkout, state: str, path: str) -> Exposure:
    full = checkout.root / path
    if full.is_file() and not full.is_symlink() and blob_sha(full.read_bytes()) in checkout.fixed:
        return _leak("fix", path, "a file as the fix leaves it", "files")
    return _leak("file", path, f"is not as the commit has it (`{state}`)", "files")


def _foreign_repositories(checkout: Checkout) -> Iterator[Exposure]:
    for path in checkout.root.rglob(".git"):
        if path != checkout.folder:
            yield _leak(
                "repository", str(path.relative_to(checkout.root)), "another repository lies in the tree", "files"
            )


RULES: tuple[Rule, ...] = (
    _head,
    _refs,
    _history,
    _repository_files,
    _alternates,
    _settings,
    _objects,
    _files,
    _foreign_repositories,
)
