"""Checks whether an environment contains the project under test in another version or from another checkout.

A later release in site-packages would reveal the fix. Checks the environment and its base interpreter, since a sandbox
shows both.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tasks.adapters.sandbox.base import own_packages
from tasks.adapters.uv.metadata import PTH, TESTBED
from tasks.domain.guards import Exposure

_INFO = re.compile(r"(?P<name>.+?)(?:-(?P<version>[^-]+))?(?:-py[\d.]+)?\.(?:dist-info|egg-info|egg|egg-link)")
_ARCHIVE = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(?:-.*)?\.(?:whl|zip|tar\.gz|egg)")
_CODE = re.compile(r".*\.(?:py|so|pyd|pyc)")
_VENDORED = re.compile(r"(?:^|/)(?:_?vendor(?:ed)?|_bundled|extern|externals)/")
_NOT_THE_PROJECT = {"test", "tests", "testing", "doc", "docs", "example", "examples", "setup", "conftest", "benchmarks"}
NESTED_FILES = 3
"""Number of package files that a folder deeper than site-packages must share to count as a copy of the package."""


@dataclass(frozen=True)
class Surroundings:
    """The installed files that a test process sees, and the project that must not be among them."""

    root: Path
    """The environment."""
    base_prefix: Path
    """Its base interpreter."""
    checkout: Path
    source_roots: tuple[str, ...]
    """Importable folders of the checkout."""
    project: str
    """Name of the repository without its owner, or of its distribution."""

    @property
    def folders(self) -> tuple[Path, ...]:
        found = [path / "lib" for path in (self.root, self.base_prefix)]
        return tuple(dict.fromkeys(path for path in found if path.is_dir()))

    @cached_property
    def names(self) -> frozenset[str]:
        """Normalized names of the project's distribution: that of the repository, and those of distributions pointing
        at it."""
        pointing = [info.parent.name for info in self.root.glob("lib/python*/site-packages/*.dist-info/RECORD")]
        matches = [_INFO.fullmatch(name) for name in pointing if _points(self._info(name))]
        return frozenset({_normal(self.project), *(_normal(match["name"]) for match in matches if match)})

    @cached_property
    def packages(self) -> dict[str, frozenset[str]]:
        """Importable package of the checkout → its Python files, relative to it; a module has one file."""
        found: dict[str, frozenset[str]] = {}
        for root in self.source_roots:
            for path in sorted((self.checkout / root).glob("*")):
                if path.stem in _NOT_THE_PROJECT:
                    continue
                if (path / "__init__.py").is_file():
                    found[path.name] = frozenset(p.relative_to(path).as_posix() for p in path.rglob("*.py"))
                elif path.suffix == ".py":
                    found[path.name] = frozenset({path.name})
        return found

    @cached_property
    def files(self) -> dict[Path, tuple[tuple[str, ...], tuple[str, ...]]]:
        """Folder → its folders and files, cached. Leaves out the interpreter's own packages, which isolating sandboxes
        hide."""
        hidden = () if self.base_prefix == self.root else own_packages(self.base_prefix)
        walked = ((Path(at), dirs, files) for top in self.folders for at, dirs, files in os.walk(top))
        return {
            at: (tuple(dirs), tuple(files))
            for at, dirs, files in walked
            if not any(at.is_relative_to(folder) for folder in hidden)
        }

    def _info(self, name: str) -> Path:
        (path,) = self.root.glob(f"lib/python*/site-packages/{name}")
        return path


Rule = Callable[[Surroundings], Iterator[Exposure]]


def find_environment_leaks(surroundings: Surroundings) -> tuple[Exposure, ...]:
    """Return releases and copies of the project, and paths to other checkouts; empty for a clean environment."""
    return tuple(exposure for rule in RULES for exposure in rule(surroundings))


def _releases(here: Surroundings) -> Iterator[Exposure]:
    """Yield installed distributions with the project's name that contain code, and archives with its name."""
    for at, (folders, files) in here.files.items():
        for name in (*folders, *files):
            info, archive = _INFO.fullmatch(name), _ARCHIVE.fullmatch(name)
            match = info or archive
            if match is None or _normal(match["name"]) not in here.names:
                continue
            if archive or _holds_code(at / name):
                yield _leak("project-release", at / name, f"version {match['version'] or 'unknown'} of the project")


def _copies(here: Surroundings) -> Iterator[Exposure]:
    """Yield folders and modules with the files of a package of the checkout."""
    for at, (folders, files) in here.files.items():
        for name in here.packages.keys() & {*folders, *files}:
            installed = at.name in ("site-packages", "dist-packages")
            shared = _shared(here.packages[name], _python_files(at / name), needed=1 if installed else NESTED_FILES)
            if shared:
                yield _leak("project-copy", at / name, f"{shared} files of the checkout's {name}")


def _bundled_copies(here: Surroundings) -> Iterator[Exposure]:
    """Yield copies of the checkout's packages inside wheels and zips."""
    for path in (at / name for at, (_, files) in here.files.items() for name in files):
        if path.suffix in (".whl", ".zip", ".egg") and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inside = archive.namelist()
            for name, own in here.packages.items():
                found = [f"/{file}".rpartition(f"/{name}/") for file in inside if f"/{name}/" in f"/{file}"]
                for top in sorted({top for top, _, _ in found}):
                    python = frozenset(file for at, _, file in found if at == top and file.endswith(".py"))
                    if shared := _shared(own, python, needed=NESTED_FILES):
                        told = f"{shared} files of the checkout's {name}"
                        yield _leak("project-copy", path, told, inside=top)


def _foreign_paths(here: Surroundings) -> Iterator[Exposure]:
    """Yield `.pth` files, editable finders and `direct_url.json` files that name a folder other than the checkout."""
    for path in (at / name for at, (_, files) in here.files.items() for name in files):
        if path.suffix == ".pth":
            for line in path.read_text(errors="replace").splitlines():
                if line.startswith("/") and not _allowed(line, here):
                    yield _leak("foreign-path", path, f"puts {line} on the import path")
        elif path.name.startswith("__editable__") or path.suffix == ".egg-link":
            yield _leak("foreign-path", path, "points at another checkout")
        elif path.name == "direct_url.json" and '"file:' in path.read_text(errors="replace"):
            yield _leak("foreign-path", path, "names the folder that it was installed from")


def _repositories(here: Surroundings) -> Iterator[Exposure]:
    for at, (folders, files) in here.files.items():
        if ".git" in (*folders, *files):
            yield _leak("repository", at / ".git", "a git repository lies in the environment")


RULES: tuple[Rule, ...] = (_releases, _copies, _bundled_copies, _foreign_paths, _repositories)


def _leak(rule: str, path: Path, detail: str, *, inside: str = "") -> Exposure:
    """Return an exposure; `inside` is the folder within an archive."""
    carried = _VENDORED.search(f"{path.as_posix()}{inside}/") is not None
    return Exposure(where="environment", rule=rule, path=str(path), detail=detail, blocking=not carried)


def _normal(name: str) -> str:
    """Normalize a name by PEP 503: dots and underscores become hyphens."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _record(info: Path) -> Iterable[str]:
    record = info / "RECORD"
    lines = record.read_text(errors="replace").splitlines() if record.is_file() else []
    return [line.partition(",")[0] for line in lines]


def _points(info: Path) -> bool:
    """Whether a distribution is the checkout's own metadata."""
    return PTH in _record(info)


def _holds_code(info: Path) -> bool:
    """Whether a distribution contains code. A distribution without a file list counts as code."""
    listed = [name for name in _record(info) if not name.startswith(info.name)]
    return any(_CODE.fullmatch(name) for name in listed) or not _record(info)


def _shared(own: frozenset[str], theirs: frozenset[str], *, needed: int) -> int:
    """Return the number of files that a copy shares with the checkout; 0 if below half of the smaller one."""
    shared = len(own & theirs)
    return shared if shared >= needed and shared * 2 >= min(len(own), len(theirs)) else 0


def _python_files(path: Path) -> frozenset[str]:
    if path.is_file():
        return frozenset({path.name})
    return frozenset(file.relative_to(path).as_posix() for file in path.rglob("*.py"))


def _allowed(line: str, here: Surroundings) -> bool:
    inside = (TESTBED.as_posix(), str(here.root), str(here.base_prefix))
    return any(line == top or line.startswith(top.rstrip("/") + "/") for top in inside)
