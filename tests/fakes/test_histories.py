"""What the local GitHub makes of histories that are not tidy."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.fakes.local_github.world import LocalRepository, open_repository

REPO = "odd/project"
START = datetime(2020, 1, 1, tzinfo=UTC)


def day(number: int) -> int:
    return int((START + timedelta(days=number)).timestamp())


class Stream:
    """A `git fast-import` stream of main and branches beside it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.marks = 0

    def commit(
        self,
        message: str | bytes,
        when: int,
        *parents: int,
        files: Mapping[str, str] | None = None,
        ref: str = "refs/heads/main",
        author: str = "Ann",
    ) -> int:
        """A commit with files beside those of its first parent; its mark."""
        self.marks += 1
        text = message if isinstance(message, bytes) else message.encode()
        who = f"{author} <a@example.org> {when} +0000"
        head = f"commit {ref}\nmark :{self.marks}\nauthor {who}\ncommitter {who}\ndata {len(text)}\n"
        self.parts.append(head.encode() + text + b"\n")
        for place, parent in enumerate(parents):
            self.parts.append(f"{'merge' if place else 'from'} :{parent}\n".encode())
        for path, content in (files or {f"f{self.marks}.py": f"{self.marks}\n"}).items():
            self.parts.append(f"M 100644 inline {path}\ndata {len(content)}\n{content}\n".encode())
        return self.marks

    def opened(self, folder: Path) -> LocalRepository:
        bare = folder / "git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
        argv = ["git", "-C", str(bare), "fast-import", "--quiet", "--date-format=raw-permissive"]
        subprocess.run(argv, input=b"".join(self.parts), check=True)
        return open_repository(REPO, bare, issues=None, scratch=folder)


def test_a_message_may_hold_any_byte(tmp_path: Path) -> None:
    """The history of scikit-learn has a record separator in a message."""
    stream = Stream()
    first = stream.commit("Start", day(0), author="")
    odd = stream.commit(b"A fix \x1e of \xff\xfe bytes (#3)\n\n\x1eand\x1e more\n\nFixes #2", day(1), first)
    stream.commit("Last (#4)", day(2), odd, files={"with \x1e in it.py": "1\n"})
    held = stream.opened(tmp_path)
    assert list(held.pulls) == [3, 4]
    assert held.pulls[3].title == "A fix \x1e of \ufffd\ufffd bytes"
    assert held.pulls[3].body == "and\x1e more\n\nFixes #2"
    assert [file.path for file in held.history.files(*held.pulls[4].listed)] == ["with \x1e in it.py"]


def test_a_date_that_no_calendar_has_is_no_reason_to_stop(tmp_path: Path) -> None:
    stream = Stream()
    first = stream.commit("Start", 99999999999999)
    stream.commit("A fix (#1)", day(1), first)
    assert list(stream.opened(tmp_path).pulls) == [1]


def test_a_number_of_another_tracker_dates_nothing(tmp_path: Path) -> None:
    """One commit of 2009 with `(#18308)` dated all 3,209 pull requests of pylint 2009."""
    stream = Stream()
    at = stream.commit("fix fulltest.sh (#18308)", day(-4000), stream.commit("Start", day(-4001)))
    for number in range(1, 12):
        at = stream.commit(f"Change {number} (#{number})", day(30 * number), at)
    pulls = stream.opened(tmp_path).pulls
    assert list(pulls) == list(range(1, 12))
    assert {pull.created for pull in pulls.values()} == {START + timedelta(days=30 * number) for number in range(1, 12)}


TEN = "".join(f"line {number}\n" for number in range(10))


def test_the_files_of_a_merge_are_those_between_the_branch_point_and_the_head(tmp_path: Path) -> None:
    """The merge takes one of the branch's two lines, because the default branch had the other: GitHub lists both."""
    edited, both = TEN.replace("line 3\n", "three\n"), TEN.replace("line 3\n", "three\n").replace("line 8\n", "eight\n")
    stream = Stream()
    fork = stream.commit("Start", day(0), files={"a.py": TEN})
    head = stream.commit("Both", day(1), fork, files={"a.py": both}, ref="refs/heads/work")
    main = stream.commit("One of them", day(2), fork, files={"a.py": edited})
    stream.commit("Merge pull request #7 from x/work\n\nBoth", day(3), main, head, files={"a.py": both})
    held = stream.opened(tmp_path)
    (file,) = held.history.files(*held.pulls[7].listed)
    assert (file.path, file.additions, file.deletions) == ("a.py", 2, 2)
    (merged,) = held.history.files(held.pulls[7].merge.parents[0], held.pulls[7].merge.oid)
    assert (merged.additions, merged.deletions) == (1, 1)


def test_a_branch_that_took_the_default_branch_in_lists_only_its_own(tmp_path: Path) -> None:
    stream = Stream()
    fork = stream.commit("Start", day(0))
    work = stream.commit("Own", day(1), fork, files={"own.py": "1\n"}, ref="refs/heads/work")
    main = stream.commit("Meanwhile", day(2), fork, files={"other.py": "1\n"})
    took = stream.commit("Take main in", day(3), work, main, files={"other.py": "1\n"}, ref="refs/heads/work")
    last = stream.commit("Own again", day(4), took, files={"own.py": "1\n2\n"}, ref="refs/heads/work")
    later = stream.commit("Later", day(5), main, files={"later.py": "1\n"})
    stream.commit("Merge pull request #7 from x/work", day(6), later, last, files={"own.py": "1\n2\n"})
    held = stream.opened(tmp_path)
    found = held.history.files(*held.pulls[7].listed)
    assert [(file.path, file.additions, file.change) for file in found] == [("own.py", 2, "ADDED")]


def test_a_change_log_may_number_its_entries(tmp_path: Path) -> None:
    """As Sphinx does; what stands within an entry is no number of its own."""
    stream = Stream()
    first = stream.commit("Start", day(0))
    log = "Bugs\n----\n\n* #3, #4: A title is escaped once, see #2.\n  Patch by Ann.\n"
    stream.commit("Escape titles (#6)", day(1), first, files={"CHANGES.rst": log})
    held = stream.opened(tmp_path)
    assert sorted(held.issues) == [3, 4]
    assert held.issues[3].body == "A title is escaped once, see #2. Patch by Ann."
    assert "this closes #3" in held.pulls[6].body


def test_an_entry_that_is_put_into_other_words_closes_nothing_again(tmp_path: Path) -> None:
    """click 3068 wrapped two entries of others, and had their issues in its statement."""
    stream = Stream()
    old = "- Keep arguments. :issue:`3` :pr:`4`\n"
    first = stream.commit("Keep arguments (#4)", day(1), stream.commit("Start", day(0)), files={"CHANGES.rst": old})
    new = "- Keep the ``arguments``.\n  :issue:`3` :pr:`4`\n- Hide defaults. :bug:`5` :pr:`6`\n"
    stream.commit("Hide defaults (#6)", day(2), first, files={"CHANGES.rst": new})
    held = stream.opened(tmp_path)
    assert "this closes #3" in held.pulls[4].body
    assert held.pulls[6].body == "According to its change log entry, this closes #5."
    assert held.issues[3].body == "Keep arguments. 4"


def test_a_branch_keeps_the_folder_in_its_name(tmp_path: Path) -> None:
    """Only the name of a remote is none of the branch's."""
    stream = Stream()
    first = stream.commit("Start", day(0))
    for number, said in ((1, "branch 'maintenance/3.x'"), (2, "remote-tracking branch 'ann/maintenance/4.x'")):
        side = stream.commit(f"A fix (#{number})", day(number), first, ref=f"refs/heads/side{number}")
        first = stream.commit(f"Merge {said}", day(number), first, side)
    held = stream.opened(tmp_path)
    assert [pull.base_branch for pull in held.pulls.values()] == ["maintenance/3.x", "maintenance/4.x"]


def test_what_stands_beside_the_number_that_is_closed_is_told(tmp_path: Path) -> None:
    """A line was left out as a whole: beets-6040 began in the middle of a sentence."""
    stream = Stream()
    said = "Fixes #2, #3 - Appends featured artists to the\nartist tag.\n\nCloses: #4\nRefs #5.\nFix what #6 broke."
    stream.commit(f"Artists (#9)\n\n{said}", day(1), stream.commit("Start", day(0)))
    body = stream.opened(tmp_path).issues[2].body
    assert body == "Appends featured artists to the\nartist tag.\n\nFix what #6 broke."


def test_a_branch_that_took_in_what_the_default_branch_had_lists_that(tmp_path: Path) -> None:
    """Nothing listed is nothing proved: click-3120 merged `stable` into what became the default branch later."""
    stream = Stream()
    first = stream.commit("Start", day(0))
    main = stream.commit("On main", day(1), first, files={"main.py": "1\n"})
    side = stream.commit("On the side", day(1), first, ref="refs/heads/side")
    nested = stream.commit("Merge main (#7)", day(2), side, main, files={"main.py": "1\n"}, ref="refs/heads/side")
    stream.commit("Merge branch 'side'", day(3), main, nested, files={"f3.py": "3\n"})
    held = stream.opened(tmp_path)
    assert held.pulls[7].base_branch == "side"
    assert [file.path for file in held.history.files(*held.pulls[7].listed)] == ["main.py"]
