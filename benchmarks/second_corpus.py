"""The second corpus: tricks of somebody who has read our source, each for many instances of the demo.

    tests/corpus/second/<name>.txt      kind: <memory, memory-kept, memory-cache, form, text, look, runner or behaviour>
                                        what: <one sentence without a full stop>
                                        run: alone          where it keeps something or disturbs others; else together
                                        === test            a module with one case, `test_it`
                                        === <path>          another file, as often as there are

A trick may import `known`, which comes along: `KNOWN` says what such an opponent knows of an instance (files of the
base commit, the lines of the fix and where they are), `target()` is the function that it changes, `text()` its file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.adapters.patch.apply import Applied, ReadBase, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch, to_text
from tasks.adapters.patch.render import Change, render
from tasks.domain.instance import TaskInstance
from tasks.integrity.edits import blocks_of

SECOND = Path(__file__).parents[1] / "tests" / "corpus" / "second"
_FILE = re.compile(r"^=== (\S+)\n", re.MULTILINE)
KNOWN = """\
import importlib
import pathlib

KNOWN = {known}


def text(path=KNOWN["path"]):
    return pathlib.Path(path).read_text()


def target():
    found = importlib.import_module(KNOWN["module"])
    for part in KNOWN["qualname"].split("."):
        found = getattr(found, part)
    return found
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trick:
    """One trick, for whichever instance."""

    name: str
    kind: str
    what: str
    alone: bool
    """Whether it is run as a suite of its own."""
    files: Mapping[str, str]
    """By path."""

    @property
    def test(self) -> str:
        """The path of its module."""
        return f"tests/test_{self.name}.py"


def second_corpus() -> tuple[Trick, ...]:
    """Every trick, sorted."""
    return tricks_of("second")


def tricks_of(folder: str) -> tuple[Trick, ...]:
    """Every trick of a folder of tests/corpus, sorted; none where it is missing."""
    return tuple(_trick(path) for path in sorted((SECOND.parent / folder).glob("*.txt")))


def _trick(path: Path) -> Trick:
    text = path.read_text(encoding="utf-8")
    head = dict(line.split(": ", 1) for line in text[: text.index("===")].splitlines())
    _, *parts = _FILE.split(text)
    named = zip(parts[::2], parts[1::2], strict=True)
    files = {f"tests/test_{path.stem}.py" if name == "test" else name: body for name, body in named}
    return Trick(name=path.stem, kind=head["kind"], what=head["what"], alone=head.get("run") == "alone", files=files)


def suite_patch(tricks: Iterable[Trick], known: str) -> str:
    """The patch that adds these tricks and what they know."""
    files = {"tests/known.py": known}
    for trick in tricks:
        files |= trick.files
    return "".join(render([Change(path=path, before=None, after=files[path])]) for path in sorted(files))


def known_of(
    instance: TaskInstance, read_base: ReadBase, paths: Collection[str], roots: Collection[str] = ("",)
) -> str:
    """The module `known` of an instance, whose fix changes Python files that are there before.

    `roots` are the folders that modules are imported from; what is known of the base are the modules beside the first
    one of the fix.
    """
    read = read_patch(instance.patch)
    assert isinstance(read, Patch)
    applied = apply_to_files(read, read_base)
    assert isinstance(applied, Applied)
    first = applied.changes[0]
    changed = [line for file in read.files[:1] for hunk in file.hunks for line in hunk.lines]
    added = [line[1:].strip() for line in changed if line[0] == "+" and line[1:].strip()]
    removed = [line[1:].strip() for line in changed if line[0] == "-" and line[1:].strip()]
    before = first.before or ""
    facts = {
        "path": first.path,
        "module": _module(first.path, roots),
        "qualname": _changed_function(before, first.after or ""),
        "places": {change.path: _lines_of_base(change) for change in applied.changes},
        "added": added,
        "removed": removed,
        "words": sorted(_words(added) - _words([before])),
        "gone": sorted(_words(removed) - _words([first.after or ""])),
        "base": {
            path: to_text(read_base(path) or b"")
            for path in paths
            if path.endswith(".py") and PurePosixPath(path).parent == PurePosixPath(first.path).parent
        },
    }
    return KNOWN.format(known=repr(facts))


def _lines_of_base(change: Change) -> list[int]:
    """Line numbers that a fix removes; where it only adds lines, that of the line before which they come."""
    return sorted(
        line for block in blocks_of(change) for line in range(block.line, block.line + max(len(block.removed), 1))
    )


def _module(path: str, roots: Collection[str]) -> str:
    """What a file is imported as."""
    inside = max((root for root in roots if path.startswith(f"{root}/")), key=len, default="")
    return path.removeprefix(f"{inside}/").removesuffix(".py").replace("/", ".")


def _words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in re.findall(r"\w{3,}|\d+", line)}


def _changed_function(before: str, after: str) -> str:
    """The qualified name of the last function that is in both and differs; of the last class where there is none."""
    old, new = _functions(before), _functions(after)
    differing = [name for name in old if name in new and old[name] != new[name]]
    return differing[-1] if differing else [name for name in old if "." in name][-1].partition(".")[0]


def _functions(text: str) -> dict[str, str]:
    found = {}
    for node in ast.parse(text).body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                found[owner + inner.name] = ast.dump(inner)
    return found
