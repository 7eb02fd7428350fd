"""Build a method's task from an instance. Only this module of the stage handles an instance's text.

It reads the issue's text, the base commit, and the number in the instance's id. That is the number of the fix, so the
text is searched for it. It reads no golden column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tasks.adapters.patch.split import Kind, kind_of
from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.method_task import ExampleTest, MethodTask
from tasks.domain.names import RepoPath, content_key
from tasks.domain.outcome import RunnerKind
from tasks.methods.redaction import KnownHistory, find_pointers, redacted

ReadText = Callable[[str], bytes | None]
"""Returns the bytes of a file of the base commit; None if there is no such file."""

TEST_GLOBS = (
    *("**/test_*.py", "**/*_test.py", "**/unittest_*.py", "**/test.py", "**/tests.py"),
    *("test/**", "tests/**", "testing/**", "**/tests/**"),
)
"""Files that the patch filter `tests-only` keeps, except conftest.py, configuration, links and binaries."""

_COMMANDS: dict[RunnerKind, tuple[str, ...]] = {
    RunnerKind.PYTEST: ("python", "-m", "pytest"),
    RunnerKind.UNITTEST: ("python", "-m", "unittest"),
    RunnerKind.DJANGO: ("python", "tests/runtests.py"),
    RunnerKind.SYMPY: ("python", "bin/test"),
}
_BY_MODULE = (RunnerKind.UNITTEST, RunnerKind.DJANGO)

EXAMPLES_READ = 12
EXAMPLE_CHARACTERS = 6000


def brief(
    instance: TaskInstance, environment: Environment, paths: Iterable[str], read: ReadText, history: KnownHistory
) -> MethodTask:
    """Returns the task of `instance` in `environment`.

    `paths` are all files of its base commit, `read` reads one, and `history` answers questions about earlier commits.
    """
    return MethodTask(
        instance_key=instance.instance_key,
        repo=instance.repo,
        base_commit=instance.base_commit,
        version=instance.version,
        problem_statement=redacted(instance.problem_statement, find_pointers(instance, history)),
        python=environment.python,
        runner=environment.runner,
        test_command=_command(environment),
        test_targets="module" if environment.runner in _BY_MODULE else "path",
        test_globs=TEST_GLOBS,
        example=pick_example(paths, read, seed=instance.base_commit),
    )


def _command(environment: Environment) -> tuple[str, ...]:
    """Returns the test command. In a Django project that runs `manage.py`, the arguments already begin with the
    script."""
    args = environment.test_args
    if environment.runner is RunnerKind.DJANGO and args and args[0].endswith("manage.py"):
        return ("python", *args)
    return (*_COMMANDS[environment.runner], *args)


def pick_example(paths: Iterable[str], read: ReadText, *, seed: str) -> ExampleTest | None:
    """Draw a few test modules by `seed`. Returns the longest that is short enough for a prompt, else the shortest."""
    modules = [path for path in paths if kind_of(path) is Kind.MODULE]
    drawn = sorted(modules, key=lambda path: content_key("example", seed, path))[:EXAMPLES_READ]
    examples = [ExampleTest(path=RepoPath(path), text=_text(read(path))) for path in drawn]
    fitting = [example for example in examples if "def test" in example.text]
    short = [example for example in fitting if len(example.text) <= EXAMPLE_CHARACTERS]
    if short:
        return max(short, key=lambda example: len(example.text))
    return min(fitting, key=lambda example: len(example.text), default=None)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
