"""Applies a patch to files, all of it or nothing: git places the hunks (place.py), this module polices the rest.

The files' texts are handed to git, never their paths, so it makes no difference whether there is a repository around
them, and nothing can be written through a link or outside of a tree.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.adapters.patch.layers import FIXED_MTIME, is_whiteout, lifted
from tasks.adapters.patch.links import LinkChange, refuse_targets, split_links
from tasks.adapters.patch.model import RUNGS, FilePatch, Hunk, Patch, Reason, Refused, Rung, Status
from tasks.adapters.patch.paths import refuse_kinds, refuse_paths, without_submodules
from tasks.adapters.patch.place import LineEdit, Misfit, Placed, TimeForGit, TooSlow, place
from tasks.adapters.patch.read import read_patch, split_lines, to_bytes, to_text
from tasks.adapters.patch.render import Change, render, render_links

ReadBase = Callable[[str], bytes | None]
"""The bytes of a file of the base commit; null where there is none. `Mirrors.read_file` fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A patch that was applied."""

    rung: Rung
    """The worst one that any file needed."""
    patch: str
    """Normal form: the diff between the files before and after, which applies exactly."""
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    """What was tidied, such as line endings."""
    links: tuple[LinkChange, ...] = ()
    """Symbolic links, which are not among `changes`."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All that differs after it, links included."""
        paths = (*(change.path for change in self.changes), *(link.path for link in self.links))
        return tuple(dict.fromkeys(paths))


def apply_to_files(patch: Patch, read_base: ReadBase, *, stored: bool = False) -> Applied | Refused:
    """What `patch` makes of the files that `read_base` gives; writes nothing.

    With `stored`, binary files and symbolic links are taken: golden patches and golden tests may have both, candidates
    neither.
    """
    links: tuple[LinkChange, ...] = ()
    if refused := refuse_paths(patch):
        return refused
    if stored:
        split = split_links(patch)
        if isinstance(split, Refused):
            return split
        patch, links = split
        if refused := refuse_targets(links, lambda _: None):
            return refused
    if refused := refuse_kinds(patch, stored=stored):
        return refused
    removed = {link.path for link in links if link.before is not None}
    files = _Files(lambda path: None if path in removed else read_base(path))
    rungs: list[Rung] = []
    for batch in _batches(patch.files):
        try:
            taken = files.apply(batch)
        except TooSlow:
            return Refused(reason=Reason.DOES_NOT_APPLY, detail="git takes too long to find its place")
        if isinstance(taken, Refused):
            return taken
        rungs += taken
    changes = files.changes()
    return Applied(
        rung=max(rungs, key=RUNGS.index, default=Rung.EXACT),
        patch=render(changes) + render_links(links),
        changes=changes,
        notes=tuple(dict.fromkeys((*patch.notes, *files.notes))),
        links=links,
    )


def apply_stored(text: str, read_base: ReadBase) -> Applied | Refused:
    """The same with the text of a golden patch, of golden tests or of a suite, all of which may have binary files and
    links, and move submodules."""
    read = _read_stored(text)
    return read if isinstance(read, Refused) else apply_to_files(read, read_base, stored=True)


def apply_patch(tree: Path, patch: str, *, base: Path | None = None) -> Applied | Refused:
    """Applies `patch` to the files below `tree`, which needs no repository around it.

    With `base`, `tree` is an upper layer of an overlay over it: what it lacks is taken from there (layers.py).

    Every file is computed before the first one is written. Written files get the time `FIXED_MTIME`, so a tree that
    holds bytecode would run stale code: trees hold none.
    """
    read = _read_stored(patch)
    if isinstance(read, Refused):
        return read
    if refused := refuse_paths(read):
        return refused
    if base is None:
        return _apply_whole(read, tree, ())
    with lifted(base, tree, paths_of(read.files)):
        return _apply_whole(read, tree, (base,))


def _read_stored(text: str) -> Patch | Refused:
    read = read_patch(text)
    return read if isinstance(read, Refused) else without_submodules(read)


def _apply_whole(read: Patch, tree: Path, below: tuple[Path, ...]) -> Applied | Refused:
    """All that the patch touches is in `tree`; other files may lie in the layers `below`."""
    if refused := _refuse_places(read, tree):
        return refused
    applied = apply_to_files(read, lambda path: _read(tree / path), stored=True)
    if isinstance(applied, Refused):
        return applied
    removed = {change.path for change in applied.changes if change.after is None}
    if refused := _refuse_links(applied.links, removed, (tree, *below)):
        return refused
    for link in applied.links:
        if link.before is not None:
            (tree / link.path).unlink()
            _age_folder(tree / link.path)
    for change in applied.changes:
        _write(tree / change.path, change)
    for link in applied.links:
        if link.after is not None:
            _write_link(tree / link.path, link.after)
    return applied


def _refuse_links(links: Sequence[LinkChange], removed: Collection[str], layers: Sequence[Path]) -> Refused | None:
    """A link to be added where something stays, to be changed or removed where it is not, or that leads outside."""
    now = {link.path: _read_link(layers[:1], link.path) for link in links}
    for link in links:
        if now[link.path] != link.before:
            return Refused(reason=Reason.DOES_NOT_APPLY, detail=f"{link.path} is not the link that is changed")
        if link.before is None and link.path not in removed and os.path.lexists(layers[0] / link.path):
            return Refused(reason=Reason.ALREADY_EXISTS, detail=f"{link.path} is to be added but is there already")
    return refuse_targets(links, lambda path: _read_link(layers, path))


def _read_link(layers: Iterable[Path], path: str) -> str | None:
    """The target of the link at `path`, read in the uppermost layer that has the path; None where there is none."""
    for layer in layers:
        at = layer / path
        if at.is_symlink():
            return os.readlink(at)  # noqa: PTH115 - a pathlib.Path would lose a slash at the end
        if is_whiteout(at) or os.path.lexists(at):
            return None
    return None


def paths_of(files: Iterable[FilePatch]) -> tuple[str, ...]:
    """Distinct paths of some files of a patch, in order."""
    return tuple(dict.fromkeys(path for file in files for path in file.paths))


class _Files:
    """The touched files while a patch is applied to them; a file may be patched twice."""

    def __init__(self, read_base: ReadBase) -> None:
        self.read_base = read_base
        self.before: dict[str, str | None] = {}
        self.now: dict[str, str | None] = {}
        self.executable: dict[str, bool] = {}
        self.notes: list[str] = []
        self.time_for_git = TimeForGit()

    def changes(self) -> tuple[Change, ...]:
        """Changes in order of first touch, without those that came to nothing."""
        every = (
            Change(path=path, before=old, after=self.now[path], executable=self.executable.get(path))
            for path, old in self.before.items()
        )
        return tuple(
            change
            for change in every
            if change.before != change.after or (change.executable is not None and change.after is not None)
        )

    def apply(self, batch: Sequence[FilePatch]) -> list[Rung] | Refused:
        """Applies patches of distinct files in memory."""
        edits: list[LineEdit] = []
        for file in batch:
            text = self._load(file.old_path or file.path)
            if refused := self._refuse(file, text):
                return refused
            edits.append(self._edit(file, text))
        placed = place(edits, self.time_for_git)
        if isinstance(placed, Misfit):
            return Refused(reason=Reason.DOES_NOT_APPLY, detail=_misfit(batch[placed.edit], placed))
        for file, after in zip(batch, placed, strict=True):
            self._store(file, after.text)
        return [_rung(file, after) for file, after in zip(batch, placed, strict=True)]

    def _load(self, path: str) -> str | None:
        if path not in self.now:
            data = self.read_base(path)
            self.before[path] = self.now[path] = None if data is None else to_text(data)
        return self.now[path]

    def _refuse(self, file: FilePatch, text: str | None) -> Refused | None:
        """A file to be made that is there, or one to be changed that is not."""
        if file.status is Status.ADDED and text is not None:
            return Refused(reason=Reason.ALREADY_EXISTS, detail=f"{file.path} is to be added but is there already")
        if file.status in (Status.RENAMED, Status.COPIED) and self._load(file.path) is not None:
            return Refused(reason=Reason.ALREADY_EXISTS, detail=f"{file.path} is a new name but is there already")
        if file.status is not Status.ADDED and text is None and not _all_new(file):
            return Refused(
                reason=Reason.NO_SUCH_FILE, detail=f"{file.old_path} is to be {file.status} but is not there"
            )
        return None

    def _edit(self, file: FilePatch, text: str | None) -> LineEdit:
        """What git is asked. Mended beforehand: counts, line endings, an edit of a file that is not there."""
        created = text is None and file.status is not Status.ADDED
        mended = created or not all(hunk.counted for hunk in file.hunks)
        hunks = self._with_endings(file, split_lines(text or ""))
        strict = Rung.RECOUNT if mended else Rung.EXACT
        return LineEdit(text=text or "", hunks=hunks, contents=file.contents, strict=strict)

    def _with_endings(self, file: FilePatch, lines: list[str]) -> tuple[Hunk, ...]:
        """The hunks with the line endings of the file, where the two differ throughout."""
        theirs = _endings(line for hunk in file.hunks for line in hunk.lines)
        ours = _endings(lines)
        if {theirs, ours} != {"\n", "\r\n"}:
            return file.hunks
        self.notes.append(f"line endings: {file.path} has {_NAMES[ours]}, the patch {_NAMES[theirs]}")
        return tuple(
            replace(hunk, lines=tuple(_with_ending(line, theirs, ours) for line in hunk.lines)) for hunk in file.hunks
        )

    def _store(self, file: FilePatch, after: str) -> None:
        if file.status is Status.RENAMED:
            self.now[file.old_path or ""] = None
        if file.status is not Status.DELETED and file.new_mode is not None and file.new_mode != file.old_mode:
            executable = file.new_mode.endswith("755")
            if executable or file.status is not Status.ADDED:
                self.executable[file.path] = executable
        self._load(file.path)
        self.now[file.path] = None if file.status is Status.DELETED else after


def _batches(files: Sequence[FilePatch]) -> Iterator[list[FilePatch]]:
    """Runs of files in which no path occurs twice: each is one question to git."""
    batch: list[FilePatch] = []
    known: set[str] = set()
    for file in files:
        if not known.isdisjoint(file.paths):
            yield batch
            batch, known = [], set()
        batch.append(file)
        known.update(file.paths)
    yield batch


def _misfit(file: FilePatch, misfit: Misfit) -> str:
    if file.contents:
        return f"{file.path}: the binary file is not the one that is changed, or what it becomes is damaged"
    return f"{file.path}: the hunk at line {misfit.line} fits nowhere"


def _rung(file: FilePatch, after: Placed) -> Rung:
    """A deletion that does not name every line was miscounted."""
    left_over = file.status is Status.DELETED and file.hunks and after.text
    return Rung.RECOUNT if left_over and after.rung is Rung.EXACT else after.rung


_NAMES = {"\n": "LF", "\r\n": "CRLF"}


def _endings(lines: Iterable[str]) -> str:
    """The ending that all terminated lines share; empty where they differ or there are none."""
    found = {"\r\n" if line.endswith("\r\n") else "\n" for line in lines if line.endswith("\n")}
    return found.pop() if len(found) == 1 else ""


def _with_ending(line: str, theirs: str, ours: str) -> str:
    return line.removesuffix(theirs) + ours if line.endswith(theirs) else line


def _all_new(file: FilePatch) -> bool:
    """Whether the patch can only mean a new file, although its header names an old one."""
    return file.status is Status.MODIFIED and bool(file.hunks) and not any(hunk.old for hunk in file.hunks)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _refuse_places(patch: Patch, tree: Path) -> Refused | None:
    """A path that is or goes through a link which is not the patch's own (what is behind it may lie outside the tree),
    or that mixes up files and folders."""
    own = {path for file in patch.files if file.links for path in file.paths}
    for path in paths_of(patch.files):
        *folders, whole = ("/".join(path.split("/")[: n + 1]) for n in range(path.count("/") + 1))
        links = [at for at in (*folders, whole) if at not in own and (tree / at).is_symlink()]
        if links:
            return Refused(reason=Reason.LINK, detail=f"{path} goes through the link {links[0]}")
        if ((tree / whole).is_dir() and whole not in own) or any((tree / at).is_file() for at in folders):
            return Refused(reason=Reason.ALREADY_EXISTS, detail=f"{path} is in the way of a folder, or below a file")
    return None


def _write(path: Path, change: Change) -> None:
    """One file of the tree as it is after the patch."""
    if change.after is None:
        path.unlink(missing_ok=True)
        _age_folder(path)
        return
    _make_folder(path.parent)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    if change.executable is not None:
        mode = 0o755 if change.executable else 0o644
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".swt-")
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(to_bytes(change.after))
    os.chmod(temporary, mode)  # noqa: PTH101
    os.utime(temporary, (FIXED_MTIME, FIXED_MTIME))
    os.replace(temporary, path)  # noqa: PTH105
    _age_folder(path)


def _write_link(path: Path, target: str) -> None:
    _make_folder(path.parent)
    path.symlink_to(target)
    os.utime(path, (FIXED_MTIME, FIXED_MTIME), follow_symlinks=False)
    _age_folder(path)


def _age_folder(path: Path) -> None:
    """The folder of `path` is as old as everything else, if it is there."""
    with suppress(FileNotFoundError):
        os.utime(path.parent, (FIXED_MTIME, FIXED_MTIME))


def _make_folder(folder: Path) -> None:
    """`folder` and its parents, as old as everything else."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir()
        os.utime(folder.parent, (FIXED_MTIME, FIXED_MTIME))
