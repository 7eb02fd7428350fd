"""Base trees are made once, stay while somebody uses them, and make room for others afterwards."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.adapters.sandbox.base_trees import Bases

MOMENTS = itertools.count(1)
"""Times of use in their order, all long ago."""
ROOT = Path(__file__).resolve().parents[3]

HOLDER = """
import sys, time
from pathlib import Path
from tasks.adapters.sandbox.base_trees import Bases

def fill(folder):
    folder.mkdir()
    print("filling", flush=True)
    time.sleep(float(sys.argv[2]))

with Bases(Path(sys.argv[1]), 1).held("a", fill):
    print("held", flush=True)
    time.sleep(60)
"""


class Fill:
    """Makes a tree, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, folder: Path) -> None:
        self.times += 1
        folder.mkdir()
        (folder / "file").write_text("as committed\n")


@pytest.fixture
def bases(tmp_path: Path) -> Bases:
    return Bases(tmp_path / "bases", 2)


def kept(bases: Bases) -> list[str]:
    """Names without the boot."""
    return sorted(path.name.rpartition("-")[0] for path in bases.folder.iterdir())


def use(bases: Bases, *names: str) -> None:
    for name in names:
        with bases.held(name, Fill()) as tree:
            moment = next(MOMENTS)
            os.utime(tree.parent, (moment, moment))


def test_a_tree_is_made_once(bases: Bases) -> None:
    fill = Fill()
    for _ in range(3):
        with bases.held("a", fill) as tree:
            assert (tree / "file").read_text() == "as committed\n"
    assert fill.times == 1


def test_the_least_recently_used_makes_room(bases: Bases) -> None:
    use(bases, "a", "b", "a", "c")
    assert kept(bases) == ["a", "c"]


def test_what_is_in_use_stays(bases: Bases) -> None:
    with bases.held("a", Fill()) as first, bases.held("b", Fill()) as second:
        use(bases, "c", "d")
        assert (first / "file").exists()
        assert (second / "file").exists()
    use(bases, "e")
    assert len(kept(bases)) == 2


def test_a_tree_that_could_not_be_made_is_not_there(bases: Bases) -> None:
    def full(folder: Path) -> None:
        folder.mkdir()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), bases.held("a", full):
        pass
    assert kept(bases) == []


def test_many_threads_get_whole_trees_while_others_push_them_out(bases: Bases) -> None:
    def look(number: int) -> str:
        with bases.held("abc"[number % 3], Fill()) as tree:
            return (tree / "file").read_text()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(look, range(400))) == {"as committed\n"}
    assert len(kept(bases)) <= 3


def test_two_that_make_the_same_agree(bases: Bases) -> None:
    both = threading.Barrier(2)

    def slow(folder: Path) -> None:
        both.wait(10)
        Fill()(folder)

    def look(_: int) -> int:
        with bases.held("a", slow) as tree:
            return tree.stat().st_ino

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(look, range(2)))) == 1
    assert kept(bases) == ["a"]


@pytest.mark.parametrize(("said", "pause"), [("filling", "60"), ("held", "0")])
def test_a_killed_holder_keeps_nothing_from_going(bases: Bases, said: str, pause: str) -> None:
    argv = [sys.executable, "-c", HOLDER, str(bases.folder), pause]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        while holder.stdout.readline() != f"{said}\n":
            pass
        use(bases, "b")
        for place in bases.folder.glob("a-*"):
            os.utime(place, (0, 0))
        holder.send_signal(signal.SIGKILL)
    use(bases, "c", "d")
    assert kept(bases) == ["c", "d"]


def test_trees_of_another_boot_are_not_taken(bases: Bases) -> None:
    use(bases, "a")
    (place,) = bases.folder.iterdir()
    place.rename(place.with_name("a-00000000"))
    fill = Fill()
    with bases.held("a", fill):
        assert fill.times == 1
