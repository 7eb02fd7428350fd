"""A reproduction script as a test module: it fails as the script fails, with either kind of runner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tasks.domain.outcome import RunnerKind
from tasks.methods.replies.scripts import module_of

SCRIPTS = {
    "raise ValueError('it is there')": False,
    "import sys\nsys.exit(1)": False,
    "import sys\nsys.exit(0)": True,
    "if __name__ == '__main__':\n    x = '''a\n  b'''\n    def f():\n        return x\n    assert f()\n": True,
    "def main():\n    helper()\ndef helper():\n    assert 0\nmain()": False,
}


@pytest.mark.slow
@pytest.mark.parametrize("runner", [RunnerKind.PYTEST, RunnerKind.UNITTEST])
@pytest.mark.parametrize("script", SCRIPTS)
def test_modules(script: str, runner: RunnerKind, tmp_path: Path) -> None:
    (tmp_path / "test_script.py").write_text(module_of(script, runner))
    tool = ["pytest", "-q", "-p", "no:cacheprovider"] if runner is RunnerKind.PYTEST else ["unittest"]
    argv = [sys.executable, "-m", tool[0], *tool[1:], "test_script.py" if tool[1:] else "test_script"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == SCRIPTS[script], done.stdout + done.stderr
