"""The mode `reproduction_script`: a script that fails while the issue exists, submitted as a test module.

The script remains one string, run as `__main__` in its own namespace. So it behaves in the repository's runner as on
the command line: an exception or an exit code other than 0 is a failing test.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.patch.render import Change, render
from tasks.domain.method_task import MethodTask
from tasks.domain.outcome import RunnerKind
from tasks.methods.edits.model import EditReason, EditRefused
from tasks.methods.edits.snippet import parse
from tasks.methods.replies.fences import fenced_blocks

NAME = "test_reproduction_script"
_IN_CLASSES = (RunnerKind.UNITTEST, RunnerKind.DJANGO)

_HEAD = '''"""Runs a script that fails as long as the issue is there."""

SCRIPT = {script}


def run_script():
    try:
        exec(compile(SCRIPT, "reproduction_script.py", "exec"), {{"__name__": "__main__"}})
    except SystemExit as end:
        assert not end.code, "the script ended with exit code {{!r}}".format(end.code)
'''
_FUNCTION = """

def test_reproduction_script():
    run_script()
"""
_CLASS = """

class ReproductionScript(unittest.TestCase):
    def test_reproduction_script(self):
        run_script()
"""


def script_patch(reply: str, task: MethodTask, read_base: ReadBase) -> str | EditRefused:
    """Returns the patch that adds the last script of a reply as a test module."""
    if not reply.strip():
        return EditRefused(reason=EditReason.EMPTY, detail="the reply is empty")
    blocks = fenced_blocks(reply)
    if not blocks:
        return EditRefused(reason=EditReason.NO_BLOCK, detail="the reply has no fenced script")
    script = blocks[-1].body
    if not script.strip() or parse(script) is None:
        return EditRefused(reason=EditReason.CODE_DOES_NOT_PARSE, detail="the last fenced block is no Python script")
    path = script_path(task, read_base)
    return render([Change(path=path, before=None, after=module_of(script, task.runner))])


def script_path(task: MethodTask, read_base: ReadBase) -> str:
    """Returns an unused path beside the example test, where the repository's runner finds it."""
    folder = PurePosixPath(task.example.path).parent if task.example else PurePosixPath("tests")
    names = (NAME, *(f"{NAME}_{number}" for number in range(2, 100)))
    paths = (str(folder / f"{name}.py") for name in names)
    return next(path for path in paths if read_base(path) is None)


def module_of(script: str, runner: RunnerKind) -> str:
    """Returns the script as a test module for a runner."""
    if runner in _IN_CLASSES:
        head = _HEAD.replace("SCRIPT = ", "import unittest\n\nSCRIPT = ", 1)
        return head.format(script=_literal(script)) + _CLASS
    return _HEAD.format(script=_literal(script)) + _FUNCTION


def _literal(script: str) -> str:
    """Returns a string literal with one line for each line of the script, readable, for Python 3.6 and later."""
    lines = [repr(line + "\n") for line in script.rstrip("\n").split("\n")]
    return "(\n" + "".join(f"    {line}\n" for line in lines) + ")"
