"""Proposed decoys of a fix: kinds, order, and that each applies to the base commit and changes something."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from domain_rows import SOME_DAY, task_instance
from hypothesis import given, settings
from small_fix import Files, fix_of, modules, patched, reader

from tasks.adapters.patch.render import Change, render
from tasks.domain.decoy import Decoy, DecoyKind
from tasks.domain.instance import TaskInstance
from tasks.domain.names import FixId, InstanceId, InstanceKey
from tasks.domain.proposed_fix import ProposedFix
from tasks.integrity.decoys import MOST, decoys_of, left_out

BEFORE = "def area(w, h):\n    if w < 0:\n        return None\n    return w + h\n\n\ndef other(a):\n    return a\n"
AFTER = BEFORE.replace("w < 0", "w < 0 or h < 0").replace("w + h", "w * h")
BASE = {"m.py": BEFORE, "README": "about\n"}
FIXED = {"m.py": AFTER, "README": "about areas\n"}
FIX = fix_of(BASE, FIXED)


def made(instance: TaskInstance, base: Files, secret: str = "s", **more: tuple[object, ...]) -> tuple[Decoy, ...]:
    return decoys_of(instance, reader(base), python="3.11", secret=secret, **more)  # type: ignore[arg-type]


def another(name: str, base: Files, after: Files) -> TaskInstance:
    return replace(fix_of(base, after), instance_key=InstanceKey(name), instance_id=InstanceId(name))


def repair(patch: str) -> ProposedFix:
    return ProposedFix(
        fix_id=FixId("f"),
        instance_key=FIX.instance_key,
        instance_id=FIX.instance_id,
        patch=patch,
        problem="",
        created_at=SOME_DAY,
    )


def changed(base: Files, *paths: str, by: str = "x = 1\n") -> str:
    changes = [Change(path=path, before=base.get(path), after=(base.get(path) or "") + by) for path in paths]
    return render(changes)


def test_every_kind_takes_its_turn() -> None:
    """First one of each kind; broken fixes and mutants of changed functions come twice a turn, others' mutants last."""
    other = another("o", BASE, {**BASE, "README": "other\n"})
    wrong = repair(changed(BASE, "m.py"))
    found = made(FIX, BASE, others=(other,), wrong=(wrong,))
    assert len(found) == MOST
    assert [decoy.number for decoy in found] == list(range(MOST))
    assert [decoy.kind for decoy in found][:9] == [
        DecoyKind.BROKEN_FIX,
        DecoyKind.MUTANT,
        DecoyKind.OTHER_FIX,
        DecoyKind.PARTIAL,
        DecoyKind.BROKEN_FIX,
        DecoyKind.NO_BEHAVIOUR,
        DecoyKind.WRONG_REPAIR,
        DecoyKind.MUTANT,
        DecoyKind.MUTANT,
    ]
    assert [decoy.near for decoy in found][:9] == [True, True, False, True, True, True, True, True, False]
    assert found[6].patch == wrong.patch
    assert found[6].fix_id == ProposedFix.id_of(FIX.instance_key, wrong.patch)
    assert found[2].detail == "the golden patch of o"
    assert found[8].detail.endswith(" in m.py:8, outside of the changed functions")
    assert {decoy.seed for decoy in found} == {"s"}


def test_what_a_decoy_without_behaviour_keeps() -> None:
    most = next(decoy for decoy in made(FIX, BASE) if decoy.kind is DecoyKind.NO_BEHAVIOUR)
    text = patched(BASE, most.patch)
    assert text["README"] == "about areas\n"
    assert (text["m.py"] or "").startswith(f"{BEFORE}\n\ndef _")


def test_partial_decoys_lack_one_change_each() -> None:
    partial = [patched(BASE, decoy.patch) for decoy in made(FIX, BASE) if decoy.kind is DecoyKind.PARTIAL]
    assert partial[0] == {**FIXED, "README": "about\n"}
    assert partial[1:] in ([], [{**FIXED, "m.py": AFTER.replace("w < 0 or h < 0", "w < 0")}])


def test_broken_fixes_differ_from_the_fix_in_an_added_line() -> None:
    broken = [patched(BASE, decoy.patch) for decoy in made(FIX, BASE) if decoy.kind is DecoyKind.BROKEN_FIX]
    assert broken
    for files in broken:
        pairs = zip(AFTER.splitlines(), (files["m.py"] or "").splitlines(), strict=True)
        assert [was for was, now in pairs if was != now] in (["    if w < 0 or h < 0:"], ["    return w * h"])
        assert files["README"] == FIXED["README"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"m.py": "a\n"}, {"m.py": "b\n"}, []),
        ({"m.py": "a\n"}, {}, []),
        ({}, {"m.py": "a\n"}, []),
        ({"m.py": "a\nb\nc\n"}, {"m.py": "x\nb\ny\n"}, [{"m.py": "a\nb\ny\n"}, {"m.py": "x\nb\nc\n"}]),
        ({"m.py": "a\nb\nc"}, {"m.py": "x\nb\ny"}, [{"m.py": "a\nb\ny"}, {"m.py": "x\nb\nc"}]),
        ({"m.py": "a\r\n"}, {"m.py": "b\r\n", "n": "a"}, [{"m.py": "a\r\n", "n": "a"}, {"m.py": "b\r\n", "n": None}]),
        ({"m.py": "a\n", "n": "a"}, {"m.py": "b\n"}, [{"m.py": "a\n", "n": None}, {"m.py": "b\n", "n": "a"}]),
    ],
)
def test_a_fix_without_one_of_its_changes(before: Files, after: Files, expected: list[Files]) -> None:
    names = sorted({**before, **after})
    changes = [Change(path=path, before=before.get(path), after=after.get(path)) for path in names]
    assert [{change.path: change.after for change in less} for less in left_out(changes)] == expected


def test_a_fix_that_only_adds_files_has_broken_fixes_and_decoys_of_others() -> None:
    other = another("o", {"m.py": BEFORE}, {"m.py": AFTER})
    found = made(fix_of({}, {"new.py": "x = 1\n"}), {"m.py": BEFORE}, others=(other,))
    assert {one.kind for one in found} == {DecoyKind.BROKEN_FIX, DecoyKind.OTHER_FIX}


def test_a_fix_that_only_deletes_a_file_has_mutants_of_it() -> None:
    kinds = Counter(decoy.kind for decoy in made(fix_of({"m.py": BEFORE}, {}), {"m.py": BEFORE}))
    assert kinds.keys() == {DecoyKind.NO_BEHAVIOUR, DecoyKind.MUTANT}


def test_a_fix_that_only_moves_a_submodule_numbers_decoys_from_0() -> None:
    """It changes no file, so its normal form is empty."""
    lines = ("index 1111111..2222222 160000", "--- a/lib", "+++ b/lib", "@@ -1 +1 @@")
    moved = (f"{sign}Subproject commit {digit * 40}" for sign, digit in ("-1", "+2"))
    fix = task_instance(patch="\n".join(("diff --git a/lib b/lib", *lines, *moved, "")))
    other = another("o", BASE, FIXED)
    assert [(one.number, one.patch) for one in made(fix, BASE, others=(other,))] == [(0, other.patch)]


def test_a_golden_patch_that_does_not_apply_has_no_decoy() -> None:
    assert made(FIX, {"m.py": "other\n"}) == ()
    assert made(task_instance(patch=""), BASE) == ()


def test_the_golden_patch_and_what_changes_nothing_are_no_decoys() -> None:
    same = another("same", BASE, FIXED)
    elsewhere = another("elsewhere", {"n.py": "a\n"}, {"n.py": "b\n"})
    wrong = (repair(FIX.patch), repair(""))
    patches = [decoy.patch for decoy in made(FIX, BASE, others=(FIX, same, elsewhere), wrong=wrong)]
    assert patches == [decoy.patch for decoy in made(FIX, BASE)]
    assert not {FIX.patch, ""} & set(patches)


def test_the_tests_of_a_fix_are_not_mutated() -> None:
    base = {"m.py": BEFORE, "tests/test_m.py": "def test_a():\n    assert f() == 1\n"}
    fix = fix_of(base, {"m.py": AFTER, "tests/test_m.py": "def test_a():\n    assert f() == 2\n"})
    mutated = [decoy.detail for decoy in made(fix, base) if decoy.kind is DecoyKind.MUTANT]
    assert mutated
    assert not [detail for detail in mutated if "test_m.py" in detail]


def test_python_2_has_decoys() -> None:
    base = {"m.py": f"print 'a'\n{BEFORE}"}
    found = made(fix_of(base, {"m.py": f"print 'a'\n{AFTER}"}), base)
    kinds = {DecoyKind.BROKEN_FIX, DecoyKind.NO_BEHAVIOUR, DecoyKind.MUTANT, DecoyKind.PARTIAL}
    assert {decoy.kind for decoy in found} == kinds


@pytest.mark.slow
@given(modules())
@settings(max_examples=40, deadline=None)
def test_every_decoy_applies_to_the_base_commit_and_differs_from_the_fix(module: tuple[str, str]) -> None:
    before, after = module
    if before == after:
        return
    base, fixed = {"m.py": before, "n.txt": "a\n"}, {"m.py": after, "n.txt": "b"}
    found = made(fix_of(base, fixed), base)
    assert found
    for decoy in found:
        assert patched(base, decoy.patch) not in (base, fixed)
    assert len({decoy.fix_id for decoy in found}) == len(found)
    again = made(fix_of(base, fixed), base)
    assert [replace(decoy, created_at=SOME_DAY) for decoy in again] == [
        replace(decoy, created_at=SOME_DAY) for decoy in found
    ]


def test_another_secret_gives_other_decoys() -> None:
    assert {decoy.patch for decoy in made(FIX, BASE, "a")} != {decoy.patch for decoy in made(FIX, BASE, "b")}
