"""Structural code search on syntax trees of a workbench's files: the tools of `auto_code_rover`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tasks.adapters.workbench.base import Workbench
from tasks.methods.edits.outline import Outline, OutlineEntry, outline
from tasks.methods.edits.snippet import CodeKind
from tasks.methods.prompts import excerpt
from tasks.methods.tools import ModelTool, tool_spec

MOST = 3
"""Definitions that one search shows in full; the others appear by name."""
FILE_LINES = 100
SNIPPET_AROUND = 3
NAMED = 20


@dataclass(slots=True)
class CodeSearch:
    """Search tools of one workbench. Each file is parsed once, when a search first needs it."""

    bench: Workbench
    _outlines: dict[str, Outline | None] = field(default_factory=dict)

    @property
    def tools(self) -> dict[str, ModelTool]:
        return {spec.name: ModelTool(spec, getattr(self, spec.name)) for spec in SPECS}

    def search_class(self, class_name: str) -> str:
        """Returns a class without the bodies of its methods."""
        found = self._definitions(CodeKind.CLASS, class_name)
        return _shown(found, f"class {class_name}", _signature)

    def search_method(self, method_name: str, class_name: str = "") -> str:
        """Returns functions or methods with their bodies; with `class_name`, only methods of that class."""
        found = self._definitions(CodeKind.FUNCTION, method_name)
        if class_name:
            found = [one for one in found if one[2].scope.rpartition(".")[2] == class_name]
        return _shown(found, f"method {method_name}", _body)

    def search_code(self, code: str, path: str = "") -> str:
        """Returns the places that contain a piece of code, with the lines around them."""
        hits = self.bench.search(code, under=path.strip("/"), limit=MOST)
        if not hits:
            return f"{code!r} is nowhere{f' below {path}' if path else ''}."
        return "\n\n".join(self._around(hit.path, hit.line) for hit in hits)

    def read_file(self, path: str, start_line: int = 1) -> str:
        """Returns up to 100 lines of a file."""
        text = self.bench.read(path)
        if text is None:
            near = [known for known in self.bench.paths if known.endswith("/" + path.rpartition("/")[2])][:NAMED]
            return f"There is no file {path}." + (f" There is {', '.join(near)}." if near else "")
        return excerpt(path, text.splitlines(), max(1, start_line), FILE_LINES)

    def _definitions(self, kind: CodeKind, name: str) -> list[tuple[str, Outline, OutlineEntry]]:
        """Returns the definitions with this simple name in all files, those in test folders last."""
        word = "class" if kind is CodeKind.CLASS else "def"
        files = dict.fromkeys(hit.path for hit in self.bench.search(f"{word} {name}", limit=200))
        found = []
        for path in files:
            read = self._outline(path)
            if path.endswith(".py") and read is not None:
                fitting = [place for place in read.definitions if place.kind is kind and place.simple == name]
                found += [(path, read, place) for place in fitting]
        return sorted(found, key=lambda one: "test" in one[0])

    def _outline(self, path: str) -> Outline | None:
        if path not in self._outlines:
            self._outlines[path] = outline(self.bench.read(path) or "")
        return self._outlines[path]

    def _around(self, path: str, line: int) -> str:
        lines = (self.bench.read(path) or "").splitlines()
        return excerpt(path, lines, max(1, line - SNIPPET_AROUND), 2 * SNIPPET_AROUND + 1)


def _shown(
    found: list[tuple[str, Outline, OutlineEntry]], wanted: str, show: Callable[[str, Outline, OutlineEntry], str]
) -> str:
    """Returns the first definitions in full and the others by name."""
    if not found:
        return f"There is no {wanted}."
    parts = [show(*one) for one in found[:MOST]]
    rest = [f"{path}:{place.start} {place.name}" for path, _, place in found[MOST : MOST + NAMED]]
    return "\n\n".join([*parts, *(["Also: " + ", ".join(rest)] if rest else [])])


def _body(path: str, read: Outline, place: OutlineEntry) -> str:
    lines = [line.rstrip("\r\n") for line in read.lines]
    return excerpt(path, lines, place.start, place.end - place.start + 1)


def _signature(path: str, read: Outline, place: OutlineEntry) -> str:
    """Returns a class without the bodies of its methods."""
    hidden: set[int] = set()
    for inner in read.definitions:
        if inner.scope == place.name and inner.kind is CodeKind.FUNCTION and place.covers(inner.start):
            hidden |= set(range(inner.head + 1, inner.end + 1))
    kept = [number for number in range(place.start, place.end + 1) if number not in hidden]
    text = [f"{number} {read.lines[number - 1].rstrip()}" for number in kept if read.lines[number - 1].strip()]
    return "\n".join([f"[{path}]", *text[:FILE_LINES]])


SPECS = (
    tool_spec("search_class", "Outline of a class by its name.", ["class_name"], class_name="Name without its module."),
    tool_spec(
        "search_method",
        "A function or method in full, by its name.",
        ["method_name"],
        method_name="Name of the function.",
        class_name="Only in this class.",
    ),
    tool_spec(
        "search_code", "Lines that hold a piece of code.", ["code"], code="As it is written.", path="File or folder."
    ),
    tool_spec(
        "read_file", "Up to 100 lines of a file.", ["path"], path="From the root.", start_line="First line, 1-based."
    ),
)
