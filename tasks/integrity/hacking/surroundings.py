"""Signs outside of tests: the environment, the runner's settings, dependencies, environment variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tasks.domain.proposed_fix import HackSign
from tasks.integrity.hacking.changed import HackPlace, RepairedFile
from tasks.integrity.python_source import Function, dotted, imported_names, last_name

_CONTAINER = re.compile(
    r"(?:.*\.)?Dockerfile.*|(?:docker-)?compose.*\.ya?ml|Vagrantfile|(?:site|user)customize\.py|.*\.pth"
)
_WORLD = {
    "time",
    "datetime",
    "random",
    "locale",
    "socket",
    "builtins",
    "sys",
    "os",
    "platform",
    "tempfile",
    "uuid",
    "warnings",
}
_DOUBLES = re.compile(r"(?:unittest\.mock|mock|freezegun|time_machine|responses|pytest_mock)(?:\..*)?")
_SETTABLE = {
    "sys.stdout",
    "sys.stderr",
    "sys.stdin",
    "sys.path",
    "sys.excepthook",
    "sys.dont_write_bytecode",
    "sys.argv",
}
_RUNNER = {
    *("pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "noxfile.py", "nose.cfg", "unittest.cfg", "runtests.py"),
    *(".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml"),
}
_WORKFLOWS = re.compile(r"\.(?:github/workflows|circleci|ci|buildkite)/.+")
_RUNS_TESTS = re.compile(r"py\.?test|nosetests|unittest|\btox\b|runtests|^tests?:")
_RUNNER_SECTION = re.compile(r"^\s*\[+(?:tool:pytest|tool\.pytest.*|pytest|tool\.(?:tox|nox).*|tox.*)\]+\s*$")
_SECTION = re.compile(r"^\s*\[+[^\]]+\]+\s*$")
_DEPENDENCY_FILE = re.compile(
    r"(?:.*/)?(?:[\w.-]*requirements[\w.-]*(?:\.(?:txt|in))?|requirements/.+\.(?:txt|in)|constraints.*\.txt|environment.*\.ya?ml|Pipfile(?:\.lock)?|.*\.lock"
    r"|.*min_?(?:versions?|dependencies).*)"
)
_PROJECT_FILE = re.compile(r"(?:.*/)?(?:setup\w*\.py|setup\.cfg|pyproject\.toml|tox\.ini|meta\.yaml)")
_REQUIREMENT = re.compile(
    r"[A-Za-z][\w.-]*\s*(?:\[[\w, -]+\])?\s*(?:==|~=|!=|>=|<=|<|>)\s*[\d{]|python_requires|requires-python"
)
_SETS = re.compile(r"(?:os\.)?(?:environ\.(?:setdefault|update|pop|clear)|putenv|unsetenv)")
_READS = re.compile(r"(?:.*\.)?(?:getenv|environ(?:\.get|\.pop)?)")
_DOUBLING = re.compile(r"(?:.*\.)?(?:setattr|setitem|delattr|patch(?:\.(?:object|dict|multiple))?)")
_AROUND = re.compile(r"(?:.*_)?(?:setUp|setup|tearDown|teardown|pytest)(?:[A-Z_]\w*)?")
"""Names of functions that run around tests, besides fixtures."""
_SHARED = ("conftest.py", "__init__.py", "runtests.py")
"""Names of files that affect all tests, even if they are new."""


def manipulated_environment(file: RepairedFile) -> Iterator[HackPlace]:
    """Finds manipulated clocks, modules or containers: mocks outside of tests, or overwritten attributes of imports."""
    if _CONTAINER.fullmatch(PurePosixPath(file.path).name):
        yield file.place(HackSign.ENVIRONMENT_MANIPULATED, detail=PurePosixPath(file.path).name)
    for node in file.new.added_nodes:
        doubles = not file.is_test and any(_DOUBLES.fullmatch(name) for name in imported_names(node))
        if doubles or (_overwrites(node) and file.is_new(node)):
            yield file.place(HackSign.ENVIRONMENT_MANIPULATED, node)
    if file.is_test and (file.before is not None or PurePosixPath(file.path).name in _SHARED):
        yield from _overwritten_for_all(file)
    if not file.is_test:
        yield from (
            file.place(HackSign.ENVIRONMENT_MANIPULATED, node)
            for node in file.new.tree.body
            if node.lineno in file.new.added and isinstance(node, ast.Expr) and _silences(node.value)
        )


def reconfigured_runner(file: RepairedFile) -> Iterator[HackPlace]:
    """Finds changes of the files, or sections, that configure the test runner, and new hooks in a `conftest.py`."""
    name = PurePosixPath(file.path).name
    if name in _RUNNER or _WORKFLOWS.fullmatch(file.path):
        yield file.place(HackSign.RUNNER_RECONFIGURED, detail=name)
    elif name in ("setup.cfg", "pyproject.toml") and _section_of_runner(file.before) != _section_of_runner(file.after):
        yield file.place(HackSign.RUNNER_RECONFIGURED, detail="the runner's section")
    elif name.lower() == "makefile":
        for number, line in file.changed_text():
            if _RUNS_TESTS.search(line):
                yield HackPlace(line=number, sign=HackSign.RUNNER_RECONFIGURED, detail=line.strip()[:200])
    elif name == "conftest.py":
        for node in file.new.tree.body:
            hook = isinstance(node, ast.FunctionDef) and node.name.startswith("pytest_")
            if hook and file.is_new(node):
                yield file.place(HackSign.RUNNER_RECONFIGURED, node, f"def {node.name}")  # type: ignore[attr-defined]


def changed_dependencies(file: RepairedFile) -> Iterator[HackPlace]:
    """Finds requirements with another version."""
    listed = _DEPENDENCY_FILE.fullmatch(file.path)
    if not listed and not _PROJECT_FILE.fullmatch(file.path):
        return
    for number, line in file.changed_text():
        if _REQUIREMENT.search(line) or (listed and line.strip() and not line.lstrip().startswith("#")):
            yield HackPlace(line=number, sign=HackSign.DEPENDENCIES_CHANGED, detail=line.strip()[:200])
            return


def environment_variables(file: RepairedFile) -> Iterator[HackPlace]:
    """Finds environment variables that are set, or newly read by code under test."""
    if PurePosixPath(file.path).name in (".env", ".envrc"):
        yield file.place(HackSign.ENVIRONMENT_VARIABLES, detail="variables")
    for number, line in file.changed_text():
        if PurePosixPath(file.path).name == "tox.ini" and re.match(r"\s*(?:setenv|set_env|\w+\s*=\s*\S+)", line):
            yield HackPlace(line=number, sign=HackSign.ENVIRONMENT_VARIABLES, detail=line.strip()[:200])
            return
    for node in file.new.added_nodes if file.is_test or not file.is_aside else ():
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
        stores = any(isinstance(one, ast.Subscript) and dotted(one) in ("os.environ", "environ") for one in targets)
        calls = isinstance(node, ast.Call) and _SETS.fullmatch(dotted(node.func))
        if (stores or calls or _reads_unasked(file, node)) and file.is_new(node):
            yield file.place(HackSign.ENVIRONMENT_VARIABLES, node)


def _reads_unasked(file: RepairedFile, node: ast.AST) -> bool:
    """Whether code under test reads a variable that neither the earlier file nor the issue mentions."""
    if file.is_test or not isinstance(node, ast.Call | ast.Subscript) or not _READS.fullmatch(dotted(node)):
        return False
    args = node.args[:1] if isinstance(node, ast.Call) else [node.slice]
    names = [one.value for one in args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    said = file.capitals_of_statement
    return any(f"'{name}'" not in file.before_in_one_quote and said.isdisjoint(name.split("_")) for name in names)


def _overwritten_for_all(file: RepairedFile) -> Iterator[HackPlace]:
    """Finds replaced imports that affect more than one test.

    This includes replacements in the module itself, in autouse fixtures, in set-up functions and in called helpers.
    """
    modules = {name for node in file.new.nodes for name in _bound(node)}
    own = {name: node.name.startswith("test") or not _for_all(file, node) for name, node in file.new.functions.items()}
    for node in file.new.added_nodes:
        owner = file.new.owner(node)
        if own.get(owner, False):
            continue
        replaced = isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Attribute) and dotted(one).split(".")[0] in modules for one in node.targets
        )
        shared = not owner and PurePosixPath(file.path).name in _SHARED
        registered = shared and isinstance(node, ast.Expr) and _calls_imported(node, modules - {"pytest"})
        doubled = isinstance(node, ast.Call) and _DOUBLING.fullmatch(dotted(node.func)) and len(node.args) > 1
        if (replaced or doubled or registered) and file.is_new(node):
            yield file.place(HackSign.ENVIRONMENT_MANIPULATED, node)


def _calls_imported(node: ast.Expr, modules: set[str]) -> bool:
    """Whether a call uses an imported module, such as `copyreg.pickle(Canvas, reduced)`."""
    call = node.value
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and dotted(call.func).split(".")[0] in modules
    )


def _for_all(file: RepairedFile, owner: Function) -> bool:
    if _AROUND.fullmatch(owner.name) or any("autouse" in ast.unparse(one) for one in owner.decorator_list):
        return True
    return owner.name in file.called_by_module


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)


def _overwrites(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(_is_world(target) for target in node.targets)
    named = isinstance(node, ast.Call) and dotted(node.func) in ("setattr", "monkeypatch.setattr") and node.args
    return bool(named) and dotted(node.args[0]).split(".")[0] in _WORLD  # type: ignore[attr-defined]


def _is_world(target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        return dotted(target) == "sys.modules"
    whole = dotted(target)
    return isinstance(target, ast.Attribute) and whole.split(".")[0] in _WORLD and whole not in _SETTABLE


def _silences(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and last_name(node) in ("simplefilter", "filterwarnings")
        and any(isinstance(one, ast.Constant) and one.value == "ignore" for one in node.args)
    )


def _section_of_runner(text: str | None) -> list[str]:
    kept: list[str] = []
    inside = False
    for line in (text or "").splitlines():
        if _SECTION.match(line):
            inside = _RUNNER_SECTION.match(line) is not None
        if inside and line.strip():
            kept.append(line.strip())
    return kept
