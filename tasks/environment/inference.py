"""Infers plans for repositories without a recipe from the requirements in their files.

Each inference step (`Rung`) reads one kind of source. All steps with a result are tried in order, the most explicit
first.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass

from tasks.domain.outcome import RunnerKind
from tasks.environment.project_files.project import Project, read_project
from tasks.environment.project_files.pyproject import read_pyproject
from tasks.environment.project_files.requirements import (
    Read,
    Requirements,
    normal,
    parse_lines,
    read_requirements,
    unique,
)
from tasks.environment.project_files.setup_files import read_setup_cfg, read_setup_py

INFERRED = "inferred"
"""The recipe name of inferred environments."""
READERS = (read_pyproject, read_setup_cfg, read_setup_py)
TEST_NAMES = ("test", "tests", "testing", "dev", "develop", "development", "ci")
"""Names of extras and groups with test requirements: all of the first three that exist, else the first of the rest."""
_REQUIREMENT_FILES = (
    "requirements/tests.txt",
    "requirements/test.txt",
    "requirements/testing.txt",
    "requirements/dev.txt",
    "requirements/development.txt",
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements_test.txt",
    "requirements_tests.txt",
    "test-requirements.txt",
    "test_requirements.txt",
    "tests/requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "dev_requirements.txt",
)
_DJANGO_SCRIPT = "tests/runtests.py"
_MANAGE = "manage.py"
_MANAGE_FOLDERS = ("", "src/", "backend/", "server/", "app/", "project/")
"""Possible folders of the `manage.py` of a Django project."""
_MANAGE_OPTIONS = ("test", "--verbosity", "2", "--noinput")
_SETTINGS_MODULE = "DJANGO_SETTINGS_MODULE"
_PYTEST_FILES = ("pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml")
_PLAIN_FACTORS = {"py", "test", "tests"}
_OLD_PYTEST = re.compile(r"pytest\s*(?:(?:==|~=|<=?)\s*[12]\b|<\s*3(?:\.0)*\s*(?:[,;]|$))", re.IGNORECASE)
"""A bound below pytest 3, the first version that this project's runner supports."""
_TOX_REFERENCE = re.compile(r"\{\[([^\[\]{}]*)\]([\w.-]+)\}")
"""`{[section]option}`; an empty section means the current one."""
_THIS_PROJECT = re.compile(r"(?:-e\s*|--editable[\s=])?(?:\.|\{toxinidir\})/?\[([^\[\]{}]+)\]")
"""`.[extra]`."""
_FACTOR = re.compile(r"^(?P<factors>!?[\w.{},!-]+)\s*:\s+(?P<rest>\S.*)$")


@dataclass(frozen=True, slots=True)
class RungResult:
    """The result of one inference step."""

    rung: str
    requirements: Requirements


Rung = Callable[[Project, Read], Requirements]
"""Returns what the tests require beyond the project itself; empty if this source contains nothing."""


def dependency_groups(project: Project, read: Read) -> Requirements:  # noqa: ARG001
    """PEP 735 groups, and the equivalents of other tools."""
    return Requirements(parse_lines(project.followed(_named(project.groups, project.groups.get))))


def extras(project: Project, read: Read) -> Requirements:  # noqa: ARG001
    """Extras of the project, and setuptools' `tests_require`."""
    lines = _named(project.extras, project.expand)
    return Requirements(parse_lines((*lines, *project.test_requires)))


def requirement_files(project: Project, read: Read) -> Requirements:  # noqa: ARG001
    """The first existing requirement file for tests, together with `requirements.txt`."""
    for path in _REQUIREMENT_FILES:
        found = read_requirements(read, path)
        if found.lines:
            return found + read_requirements(read, "requirements.txt")
    return Requirements()


def tox_deps(project: Project, read: Read) -> Requirements:
    """`deps` and `extras` of tox's plain test environment."""
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read_string(read("tox.ini") or "")
    except configparser.Error:
        return Requirements()
    found = _expanded(project, config.get("testenv", "extras", fallback=""))
    for line in _tox_lines(config, "testenv", "deps"):
        found += _tox_line(line, project, read)
    return found


def bare(project: Project, read: Read) -> Requirements:  # noqa: ARG001
    """`requirements.txt` alone: the last resort, which is enough for many small projects."""
    return read_requirements(read, "requirements.txt")


RUNGS: tuple[tuple[str, Rung], ...] = (
    ("dependency-groups", dependency_groups),
    ("extras", extras),
    ("requirement-files", requirement_files),
    ("tox", tox_deps),
    ("bare", bare),
)


def infer(read: Read) -> tuple[Project, tuple[RungResult, ...]]:
    """Returns the project, and one proposal per inference step with a result that no earlier step has.

    Every proposal contains the project's own dependencies and pytest. There is at least one.
    """
    project = read_project(read, READERS)
    proposals: dict[Requirements, RungResult] = {}
    for name, rung in RUNGS:
        found = rung(project, read)
        if found.lines or name == "bare":
            complete = _complete(project, found)
            proposals.setdefault(complete, RungResult(name, complete))
    return project, tuple(proposals.values())


def _complete(project: Project, found: Requirements) -> Requirements:
    everything = project.requirements() + found
    without_self = everything.without([project.name]) if project.name else everything
    lines = tuple("pytest" if _OLD_PYTEST.match(line) else line for line in without_self.lines)
    without_self = Requirements(unique(lines), without_self.constraints)
    return without_self if "pytest" in without_self.names else without_self + Requirements(("pytest",))


def _named(table: Mapping[str, object], lines_of: Callable[[str], tuple[str, ...] | None]) -> tuple[str, ...]:
    """Returns the lines of tables named in `TEST_NAMES`; those for development only if no test table exists."""
    names = {normal(name): name for name in table}
    tests = [names[name] for name in TEST_NAMES[:3] if name in names]
    chosen = tests or [names[name] for name in TEST_NAMES[3:] if name in names][:1]
    return tuple(line for name in chosen for line in lines_of(name) or ())


def _expanded(project: Project, extras: str) -> Requirements:
    """Returns the lines of some extras, whose names are separated by commas or white space."""
    return Requirements(parse_lines(line for name in extras.replace(",", " ").split() for line in project.expand(name)))


def _tox_lines(
    config: configparser.ConfigParser, section: str, option: str, seen: frozenset[tuple[str, str]] = frozenset()
) -> Iterator[str]:
    """Yields the lines of an option, and resolves lines that refer to another option."""
    here = (section, option)
    if here in seen:
        return
    for line in config.get(section, option, fallback="").splitlines():
        if reference := _TOX_REFERENCE.fullmatch(line.strip()):
            yield from _tox_lines(config, reference[1] or section, reference[2], seen | {here})
        else:
            yield line.strip()


def _tox_line(line: str, project: Project, read: Read) -> Requirements:
    match = _FACTOR.match(line)
    if match and not _PLAIN_FACTORS & set(re.split(r"[-,{}]+", match["factors"])):
        return Requirements()
    plain = match["rest"] if match else line
    if plain.startswith(("-r", "-c")):
        path = plain[2:].strip().removeprefix("{toxinidir}/")
        found = read_requirements(read, path)
        return found if plain.startswith("-r") else Requirements((), found.lines)
    if here := _THIS_PROJECT.fullmatch(plain):
        return _expanded(project, here[1])
    return Requirements(parse_lines([plain])) if "{" not in plain else Requirements()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCommand:
    """The command that runs a repository's tests."""

    runner: RunnerKind
    args: tuple[str, ...] = ()
    """For Django projects, the path of `manage.py` comes first."""


def suite_command(read: Read, required: Container[str]) -> SuiteCommand:
    """Returns Django's own script if the checkout defines its function `django_tests`; else `manage.py`; else pytest.

    `manage.py` is used for a Django project without pytest-django. `required` are the normalised names of all test
    requirements.
    """
    if "def django_tests(" in (read(_DJANGO_SCRIPT) or ""):
        return SuiteCommand(runner=RunnerKind.DJANGO)
    manage = next((path for path in _manage_files() if _SETTINGS_MODULE in (read(path) or "")), "")
    if manage and not _has_pytest_django(read, required):
        return SuiteCommand(runner=RunnerKind.DJANGO, args=(manage, *_MANAGE_OPTIONS))
    return SuiteCommand(runner=RunnerKind.PYTEST)


def _manage_files() -> tuple[str, ...]:
    return tuple(f"{folder}{_MANAGE}" for folder in _MANAGE_FOLDERS)


def _has_pytest_django(read: Read, required: Container[str]) -> bool:
    return "pytest-django" in required or any(_SETTINGS_MODULE in (read(path) or "") for path in _PYTEST_FILES)


def source_roots(project: Project, read: Read) -> tuple[str, ...]:
    """Returns the folders from which the project is importable: as declared, else `src` if it contains the package."""
    if project.package_root is not None:
        return (project.package_root.strip("./") if project.package_root != "." else "",)
    package = normal(project.name).replace("-", "_")
    return ("src",) if package and read(f"src/{package}/__init__.py") is not None else ("",)
