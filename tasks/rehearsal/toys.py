"""Three toy tasks that every method is tried on: plain functions, classes, coroutines and decorators.

They run on this interpreter, in the sandbox that isolates nothing: the code is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tasks.adapters.sandbox.process import Process
from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.workbench.local import LocalWorkbench, WorkspaceConfig
from tasks.domain.method_task import ExampleTest, MethodTask
from tasks.domain.names import InstanceKey, RepoName, RepoPath, Sha, content_key
from tasks.domain.outcome import RunnerKind
from tasks.domain.run import Limits
from tasks.methods.briefing import TEST_GLOBS
from tasks.methods.method import Assignment, ContextFile

PLAIN_PYTEST = ("PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",)
"""Plugins of this interpreter are none of a toy's business, and slow to load."""
LIMITS = Limits(wall_s=60.0, memory_mb=1024, processes=64, disk_mb=64, log_mb=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """A repository of a few files, and an issue."""

    name: str
    issue: str
    files: Mapping[str, str]
    source: str
    """The file that is at fault."""
    tests: str
    """The test file that is there."""

    @property
    def assignment(self) -> Assignment:
        task = MethodTask(
            instance_key=InstanceKey(content_key("toy", self.name)),
            repo=RepoName(f"toys/{self.name}"),
            base_commit=Sha("0" * 40),
            version=None,
            problem_statement=self.issue,
            python="3.11",
            runner=RunnerKind.PYTEST,
            test_command=("python", "-m", "pytest"),
            test_targets="path",
            test_globs=TEST_GLOBS,
            example=ExampleTest(path=RepoPath(self.tests), text=self.files[self.tests]),
        )
        return Assignment(task=task, context=(ContextFile(path=self.source, text=self.files[self.source]),))

    def bench(self, scratch: Path) -> LocalWorkbench:
        """A bench with the toy's files, in folders below `scratch`."""
        scratch.mkdir(parents=True, exist_ok=True)
        fill = partial(_fill, self.files)
        supplies = WorkspaceConfig(
            paths=tuple(sorted(self.files)),
            read_base=lambda path: self.files[path].encode() if path in self.files else None,
            fill=fill,
            fill_for_shell=fill,
            environment=lambda: host_environment(RepoName(f"toys/{self.name}"), env=PLAIN_PYTEST),
            sandbox=Process(scratch),
            scratch=scratch,
            limits=LIMITS,
        )
        return LocalWorkbench(supplies)


def _fill(files: Mapping[str, str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


_COUNTING = Toy(
    name="counting",
    issue="words('') is 1\n\nI expect no words in an empty text, but `words('')` gives 1.",
    source="counting.py",
    tests="tests/test_counting.py",
    files={
        "counting.py": 'def words(text):\n    """How many words there are."""\n    return len(text.split(" "))\n',
        "tests/test_counting.py": (
            "from counting import words\n\n\n# the plain case\ndef test_two():\n    assert words('a b') == 2\n"
        ),
    },
)
_STACK = Toy(
    name="stack",
    issue="Stack.pop() of an empty stack\n\nIt raises IndexError, and the documentation promises `Empty`.",
    source="stack/core.py",
    tests="tests/test_stack.py",
    files={
        "stack/__init__.py": "",
        "stack/core.py": (
            "class Empty(Exception):\n    pass\n\n\nclass Stack:\n    def __init__(self):\n        self.items = []\n\n"
            "    def push(self, item):\n        self.items.append(item)\n\n"
            "    def pop(self):\n        return self.items.pop()\n"
        ),
        "tests/test_stack.py": (
            "import unittest\n\nfrom stack.core import Stack\n\n\nclass StackTests(unittest.TestCase):\n"
            "    def test_push(self):\n        stack = Stack()\n        stack.push(1)\n"
            "        assert stack.pop() == 1\n"
        ),
    },
)
_TIMING = Toy(
    name="timing",
    issue="retry gives up too early\n\nWith `times=3` the coroutine is awaited twice only.",
    source="timing.py",
    tests="test_timing.py",
    files={
        "timing.py": (
            "async def retry(call, times):\n    for number in range(1, times):\n        try:\n"
            "            return await call()\n        except ValueError:\n            last = number\n"
            "    raise ValueError(last)\n"
        ),
        "test_timing.py": (
            "import asyncio\n\nimport pytest\n\nfrom timing import retry\n\n\nasync def one():\n    return 1\n\n\n"
            "@pytest.mark.parametrize('times', [2, 3])\ndef test_first(times):\n"
            "    assert asyncio.run(retry(one, times)) == 1\n"
        ),
    },
)

TOYS = (_COUNTING, _STACK, _TIMING)
