"""Programming languages other than Python, by the suffixes of the files that a patch touches."""

from __future__ import annotations

from pathlib import PurePosixPath

from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import read_patch

PYTHON = frozenset({".py", ".pyi", ".pyx", ".pxd", ".ipynb"})
LANGUAGES = {
    **dict.fromkeys((".c", ".h"), "C"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "C++"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "JavaScript"),
    **dict.fromkeys((".ts", ".tsx", ".mts"), "TypeScript"),
    **dict.fromkeys((".kt", ".kts"), "Kotlin"),
    **dict.fromkeys((".ex", ".exs"), "Elixir"),
    ".cs": "C#",
    ".dart": "Dart",
    ".go": "Go",
    ".groovy": "Groovy",
    ".hs": "Haskell",
    ".java": "Java",
    ".jl": "Julia",
    ".lua": "Lua",
    ".php": "PHP",
    ".pl": "Perl",
    ".rb": "Ruby",
    ".rs": "Rust",
    ".scala": "Scala",
    ".swift": "Swift",
    ".zig": "Zig",
}


def other_language(patch: str, test_patch: str) -> str:
    """The language of the golden tests and one of their files, where neither patch touches a Python file.

    Empty where one does, and where no golden test has a known suffix: data files may be what Python tests read.
    """
    paths = _paths(test_patch)
    if any(PurePosixPath(path).suffix in PYTHON for path in (*paths, *_paths(patch))):
        return ""
    known = ((LANGUAGES[suffix], path) for path in paths if (suffix := PurePosixPath(path).suffix) in LANGUAGES)
    return next((f"{language} ({path})" for language, path in known), "")


def _paths(text: str) -> tuple[str, ...]:
    read = read_patch(text)
    return () if isinstance(read, Refused) else tuple(file.path for file in read.files)
