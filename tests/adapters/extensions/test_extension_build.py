"""Real builds by the compiler of this machine, in the sandbox that every machine has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from compiled_project import CAN_COMPILE, COMMANDS, FIXED, NO_COMPILER, write_project

from tasks.adapters.extensions.build import Workplace, build_once
from tasks.adapters.extensions.products import Products, find
from tasks.adapters.runner.launch import complete
from tasks.adapters.sandbox.process import Process
from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.uv.plan import EnvironmentPlan, ExtensionSteps, TextFile
from tasks.domain.errors import BuildFailed
from tasks.domain.names import RepoName, RepoPath

pytestmark = pytest.mark.skipif(not CAN_COMPILE, reason=NO_COMPILER)
TOOLS = host_environment(RepoName("owner/fast"))
TOOLS_PLAN = EnvironmentPlan(
    repo=TOOLS.environment.repo,
    version=None,
    rung="tools",
    recipe="",
    interpreter=TOOLS.interpreter,
    requirements=(),
    exclude_newer=datetime(2024, 1, 1, tzinfo=UTC),
    editable=False,
    source_roots=(),
    runner=TOOLS.environment.runner,
)
KEY = "0123456789abcdef"


def steps(*commands: tuple[str, ...], files: tuple[TextFile, ...] = ()) -> ExtensionSteps:
    return ExtensionSteps(tools=TOOLS_PLAN, commands=commands or COMMANDS, files=files)


def build(
    folder: Path, wanted: ExtensionSteps, key: str = KEY, fill: Callable[[Path], object] = write_project
) -> Products:
    place = Workplace(cache=folder / "cache", scratch=folder / "scratch", sandbox=Process(folder / "scratch"))
    return build_once(place, key, wanted, TOOLS, lambda checkout: fill(checkout) and None)


def answer_of(checkout: Path) -> str:
    argv = [sys.executable, "-c", "import fast; print(fast.answer())"]
    return subprocess.run(argv, cwd=checkout, capture_output=True, text=True, check=True).stdout.strip()


def test_what_a_build_adds_is_kept_and_makes_another_checkout_whole(tmp_path: Path) -> None:
    products = build(tmp_path, steps())

    assert products.paths == ("fast/_fast.so",)
    assert products.cpu_s > 0
    assert "gcc" in products.toolchain
    assert products.log == "compiling"
    checkout = write_project(tmp_path / "checkout")
    complete(checkout, replace(TOOLS, extensions=products))
    assert answer_of(checkout) == "41"


def test_a_code_state_of_its_own_has_modules_of_its_own(tmp_path: Path) -> None:
    before = build(tmp_path, steps())
    after = build(tmp_path, steps(), "after", partial(write_project, source=FIXED))

    answers = []
    for name, products in {"before": before, "after": after}.items():
        checkout = write_project(tmp_path / name)
        complete(checkout, replace(TOOLS, extensions=products))
        answers.append(answer_of(checkout))
    assert answers == ["41", "42"]


def test_what_is_there_is_not_built_again(tmp_path: Path) -> None:
    first = build(tmp_path, steps())

    def refuse(_: Path) -> None:
        raise AssertionError("a checkout was made")

    assert build(tmp_path, steps(), fill=refuse) == first


def test_settings_of_the_build_are_read_and_not_kept(tmp_path: Path) -> None:
    files = (TextFile(path=RepoPath("build.cfg"), text="made of this"),)
    products = build(tmp_path, steps(("cp", "build.cfg", "fast/made.txt"), files=files))
    assert products.paths == ("fast/made.txt",)


def test_the_way_to_a_module_and_links_are_not_kept(tmp_path: Path) -> None:
    script = "mkdir -p build/a fast/__pycache__; touch build/a/x.so fast/x.o fast/x.c fast/__pycache__/x.pyc fast/y.so"
    products = build(tmp_path, steps(("sh", "-ec", f"{script}; ln -s /etc/passwd fast/z.so; ln -s / fast/root")))
    assert products.paths == ("fast/y.so",)


def test_a_build_that_fails_says_the_end_of_its_log(tmp_path: Path) -> None:
    script = "for i in $(seq 500); do echo line $i; done; echo the cause >&2; exit 3"
    with pytest.raises(BuildFailed, match="exit code 3") as caught:
        build(tmp_path, steps(("sh", "-c", script), ("touch", "never.so")))

    lines = str(caught.value).splitlines()
    assert lines[-1] == "the cause"
    assert "line 500" in lines
    assert "line 1" not in lines
    assert find(tmp_path / "cache", KEY) is None


def test_a_build_that_fails_names_what_the_machine_lacks(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"exit code 1; not found on this machine: no-such-library\)"):
        build(tmp_path, replace(steps(("false",)), libraries=("no-such-library",)))


def test_a_failed_build_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed):
        build(tmp_path, steps(("false",)))
    assert build(tmp_path, steps()).paths == ("fast/_fast.so",)


def test_two_at_once_build_once(tmp_path: Path) -> None:
    counted = steps(("sh", "-ec", f"echo x >> {tmp_path}/count; sleep 0.3; touch fast/y.so"))
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: build(tmp_path, counted), range(2))
    assert first == second
    assert (tmp_path / "count").read_text() == "x\n"


SLOW_BUILD = """
import sys
from pathlib import Path
from test_extension_build import build, steps
folder = Path(sys.argv[1])
build(folder, steps(("sh", "-ec", f"touch fast/half.so; touch {folder}/begun; sleep 60")))
"""


def test_a_killed_build_leaves_nothing_and_the_next_one_is_whole(tmp_path: Path) -> None:
    here = Path(__file__).parent
    paths = (here, here.parents[1] / "shared", here.parents[2])
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, paths)))
    with subprocess.Popen([sys.executable, "-c", SLOW_BUILD, str(tmp_path)], env=env) as process:
        while not (tmp_path / "begun").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "begun").exists()
    assert find(tmp_path / "cache", KEY) is None

    assert build(tmp_path, steps()).paths == ("fast/_fast.so",)
    Process(tmp_path / "scratch").sweep()
    assert list((tmp_path / "scratch").iterdir()) == []
