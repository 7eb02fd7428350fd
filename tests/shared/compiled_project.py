"""A tiny compiled project: one C extension, built by the compiler itself, with nothing to install."""

from __future__ import annotations

import difflib
import json
import shutil
import sys
import sysconfig
from pathlib import Path

from scratch_git import git

REPO = "owner/fast"
CAN_COMPILE = shutil.which("gcc") is not None and Path(sysconfig.get_path("include"), "Python.h").is_file()
NO_COMPILER = "needs gcc and the headers of this Python"

SOURCE = """#include <Python.h>

static PyObject *answer(PyObject *self, PyObject *args) {
    return PyLong_FromLong(41);
}

static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};

PyMODINIT_FUNC PyInit__fast(void) {
    return PyModule_Create(&module);
}
"""
FIXED = SOURCE.replace("41", "42")
PACKAGE = "from fast._fast import answer\n"
BUILD_SETTINGS = "def get_extensions():\n    found = []\n    return found\n"
TESTS = "import unittest\n\nimport fast\n\n\nclass Same(unittest.TestCase):\n    def test_it_is_a_number(self):\n        self.assertGreater(fast.answer(), 0)\n"  # noqa: E501
GOLDEN_TESTS = TESTS + "\n    def test_it_is_right(self):\n        self.assertEqual(fast.answer(), 42)\n"
INCLUDE = "import sysconfig; print(sysconfig.get_path('include'))"
COMPILE = (
    f'echo compiling; gcc -shared -fPIC -O0 -I"$(python -c "{INCLUDE}")" -o fast/_fast.so src/fast.c; touch fast/x.o'
)
COMMANDS = (("sh", "-ec", COMPILE),)


def write_project(folder: Path, source: str = SOURCE) -> Path:
    """The files of its base commit."""
    files = {
        "src/fast.c": source,
        "fast/__init__.py": PACKAGE,
        "fast/setup_package.py": BUILD_SETTINGS,
        "tests/__init__.py": "",
        "tests/test_fast.py": TESTS,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def compiled_mirror(folder: Path, mirror: Path, submodules: dict[str, str] | None = None) -> str:
    """A bare mirror of one commit, made by way of `folder`; that commit. `submodules` are commits by their paths."""
    write_project(folder)
    return mirror_of(folder, mirror, submodules or {})


def mirror_of(folder: Path, mirror: Path, submodules: dict[str, str]) -> str:
    """The same with the files that are in `folder`."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    for path, commit in submodules.items():
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
    git(folder, "commit", "-q", "-m", "base")
    mirror.parent.mkdir(parents=True, exist_ok=True)
    git(folder, "clone", "-q", "--bare", str(folder), str(mirror))
    return git(folder, "rev-parse", "HEAD")


def diff(path: str, before: str, after: str) -> str:
    """A patch of one file."""
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)


def write_instance(path: Path, base: str) -> Path:
    """One SWE-bench row: the golden patch changes nothing but C."""
    row = {
        "repo": REPO,
        "instance_id": "owner__fast-1",
        "base_commit": base,
        "patch": diff("src/fast.c", SOURCE, FIXED),
        "test_patch": diff("tests/test_fast.py", TESTS, GOLDEN_TESTS),
        "problem_statement": "the answer is wrong",
        "hints_text": "",
        "created_at": "2024-01-01T00:00:00Z",
        "version": "1.0",
    }
    path.write_text(json.dumps(row) + "\n")
    return path


def write_recipe(folder: Path, commands: tuple[tuple[str, ...], ...] = COMMANDS, more: str = "") -> Path:
    """A folder of recipes with one for the project; `more` are lines of its defaults."""
    folder.mkdir(parents=True, exist_ok=True)
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    lines = [
        f'repo = "{REPO}"',
        "[defaults]",
        f'python = "{minor}"',
        'install = "build"',
        'runner = "unittest"',
        "exclude_newer = 2024-01-01T00:00:00Z",
        f"build_commands = {json.dumps(commands)}",
        more,
        "[[versions]]",
        'versions = ["1.0"]',
    ]
    (folder / "owner__fast.toml").write_text("\n".join(lines) + "\n")
    return folder
