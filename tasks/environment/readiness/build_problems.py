"""Recognises build problems in the output of tools and interpreters. No I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tasks.domain.environment import Cause
from tasks.environment.project_files.requirements import normal
from tasks.environment.readiness.plugins import distribution_of

DETAIL_LINES = 30
DETAIL_CHARACTERS = 3_000
LONGEST_NAME = 100
"""Maximum length of a module's or distribution's name."""

_NO_MODULE = re.compile(r"""No module named ['"]?([A-Za-z_][\w.]*)""")
_NO_VARIABLE = re.compile(r"KeyError: '([A-Z][A-Z0-9_]*(?:DIR|PATH|FOLDER))'")
_WORD = re.compile(r"[A-Za-z]\w*(?:[.-]\w+)*")
_OPTIONS = re.compile(r"unrecognized arguments: (.+)")
_OPTION = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*")
_NOT_COMPILED = re.compile(
    r"No module named '?([\w.]*\._\w+|[\w.]*__check_build[\w.]*)|cannot import name '?(_\w+)'? from partially"
    r"|(?:not been built|build_ext --inplace|compiled extensions? (?:is|are) missing|Extension modules not found)"
)
_IN_PACKAGES = re.compile(r"/(?:site|dist)-packages/")
_NAME_GONE = re.compile(r"cannot import name '?\w+'? from '?[\w.]+'? \(\S*/(?:site|dist)-packages/")
_FRAME = re.compile(
    r"""^(?:E\s+)?\s*File ["'](?P<path>[^"']+)["'], line \d+|^(?P<short>[\w./-]+\.py):\d+: """, re.MULTILINE
)
_ERROR = re.compile(
    r"^(?:E\s+)?((?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Warning|Failure|Skipped)\b.*)$", re.MULTILINE
)
_COMPILER = re.compile(r"^\S+?:\d+(?::\d+)?: (?:fatal )?error: .+$", re.MULTILINE)
"""Errors of gcc and clang. The lines after them (`command 'gcc' failed`) are no causes."""

_NEWEST = {
    "3.6": r"\basync\b[^\n]*\n\s*\^\s*\n(?:E\s+)?SyntaxError: invalid syntax",
    "3.7": r"module 'time' has no attribute 'clock'|module 'cgi' has no attribute 'escape'",
    "3.8": r"cannot import name 'gcd' from 'fractions'|no attribute 'decodestring'|No module named '_?dummy_thread",
    "3.9": r"cannot import name '\w+' from 'collections'|module 'collections' has no attribute '\w+'"
    r"|No module named '(?:formatter|parser|symbol|_bootlocale)'",
    "3.10": r"cannot import name 'getargspec' from 'inspect'|module 'inspect' has no attribute 'getargspec'"
    r"|module 'asyncio' has no attribute 'coroutine'|No module named 'binhex'|mutable default <class '\S+'> for field",
    "3.11": r"No module named '(?:distutils|imp|asyncore|asynchat|smtpd)\b"
    r"|module 'pkgutil' has no attribute 'ImpImporter'|'FileFinder' object has no attribute 'find_module'",
    "3.12": r"No module named '(?:cgi|cgitb|pipes|telnetlib|crypt|imghdr|sndhdr|nntplib|uu|xdrlib|lib2to3)\b",
}
_OLDEST = {
    "3.7": r"No module named '(?:dataclasses|contextvars|importlib\.resources)'|future feature annotations is not",
    "3.8": r"No module named 'importlib\.metadata'|cannot import name '(?:Protocol|Literal|Final|TypedDict)'",
    "3.9": r"No module named '(?:zoneinfo|graphlib)'|'type' object is not subscriptable",
    "3.10": r"unsupported operand type\(s\) for \|: 'type'|unexpected keyword argument '(?:slots|kw_only)'",
    "3.11": r"No module named 'tomllib'|cannot import name '(?:StrEnum|Self|NotRequired)' from '",
}
PYTHON_SIGNS = tuple(
    (f"{sign}{python}", re.compile(pattern))
    for sign, table in (("<=", _NEWEST), (">=", _OLDEST))
    for python, pattern in table.items()
)
"""Python versions on which an error does not occur, by features that CPython removed or had not added yet."""


@dataclass(frozen=True, slots=True)
class BuildProblem:
    """Why an environment cannot be used unchanged."""

    cause: Cause
    names: tuple[str, ...] = ()
    """The missing or failing modules, options and fixtures, or a Python version such as `<=3.9` or `>=3.8`."""
    detail: str = ""
    """The end of the output."""

    @property
    def is_bearable(self) -> bool:
        """Whether the environment can still be used if there is no better one."""
        return self.cause is Cause.SKIPS

    @property
    def summary(self) -> str:
        """The cause, the names and the last error, on one line."""
        named = f" ({', '.join(self.names)})" if self.names else ""
        last = last_error(self.detail)
        return f"{self.cause}{named}" + (f": {last}" if last else "")


def read_trouble(text: str, own: Collection[str]) -> BuildProblem:
    """Returns the cause of an error during collection; `own` are the project's importable packages."""
    detail = tail(text)
    for bound, pattern in PYTHON_SIGNS:
        if pattern.search(text):
            return BuildProblem(Cause.PYTHON, (bound,), detail)
    if missing := missing_modules(text):
        return _missing(missing, own, text, detail)
    if options := options_unknown(text):
        return BuildProblem(Cause.MISSING_PLUGIN, options, detail)
    if _NOT_COMPILED.search(text):
        return BuildProblem(Cause.NOT_COMPILED, (), detail)
    if variables := tuple(dict.fromkeys(_NO_VARIABLE.findall(text))):
        return BuildProblem(Cause.VARIABLE, variables, detail)
    return BuildProblem(Cause.INCOMPATIBLE if _raised_outside(text) else Cause.PROJECT, (), detail)


def _missing(missing: tuple[str, ...], own: Collection[str], text: str, detail: str) -> BuildProblem:
    foreign = tuple(name for name in missing if name.partition(".")[0] not in own)
    if foreign:
        return BuildProblem(Cause.MISSING_MODULE, foreign, detail)
    return BuildProblem(Cause.NOT_COMPILED if _NOT_COMPILED.search(text) else Cause.PROJECT, missing, detail)


def wanted_by_skips(reasons: Iterable[str], declared: Collection[str], installed: Collection[str]) -> tuple[str, ...]:
    """Returns the missing distributions that cause tests to skip, as normalised names without duplicates.

    A skip reason names each of them, as a module or a word. The project declares it somewhere (`declared`), and it is
    not `installed`. Distributions that the project does not declare are ignored: its maintainers skip these tests too.
    """
    found = (match[0] for reason in reasons for match in _WORD.finditer(reason))
    words = (word for word in found if len(word) <= LONGEST_NAME)
    names = (one for word in words for one in (normal(word), normal(distribution_of(word))))
    return tuple(dict.fromkeys(name for name in names if name in declared and name not in installed))


def missing_modules(text: str) -> tuple[str, ...]:
    """Returns the dotted names of the modules that a text reports as missing, without duplicates."""
    return tuple(dict.fromkeys(name.rstrip(".") for name in _NO_MODULE.findall(text)))


def options_unknown(text: str) -> tuple[str, ...]:
    """Returns the options that pytest does not recognise, without their values."""
    lines = (match[1] for match in _OPTIONS.finditer(text))
    return tuple(dict.fromkeys(option for line in lines for option in _OPTION.findall(line)))


def _raised_outside(text: str) -> bool:
    """Whether the last frame is in an installed package, or a name was not found there."""
    frames = [match["path"] or match["short"] for match in _FRAME.finditer(text)]
    return bool(frames and _IN_PACKAGES.search(frames[-1])) or _NAME_GONE.search(text) is not None


def last_error(text: str) -> str:
    """Returns the first compiler error, else the last line with an exception, else the last line; at most 300
    characters."""
    if compiler := _COMPILER.search(text):
        return compiler[0][:300]
    errors = _ERROR.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (errors[-1] if errors else lines[-1] if lines else "")[:300]


def tail(text: str, lines: int = DETAIL_LINES) -> str:
    """Returns the last non-empty lines of a text."""
    kept = [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join(kept)[-DETAIL_CHARACTERS:]


def first_trouble(texts: Iterable[str], own: Collection[str]) -> BuildProblem | None:
    """Returns the first problem that an adjustment can solve, else the first problem; None if there is none."""
    found = [read_trouble(text, own) for text in texts if text]
    mendable = [one for one in found if one.cause not in (Cause.PROJECT, Cause.INCOMPATIBLE)]
    return next(iter((*mendable, *found)), None)
