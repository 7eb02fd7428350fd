"""A patch on an upper layer over a base makes the same tree as a patch on a whole copy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tasks.adapters.patch.apply import Applied, apply_patch
from tasks.adapters.patch.layers import FIXED_MTIME, is_whiteout

CHANGE = """\
--- a/pkg/mod.py
+++ b/pkg/mod.py
@@ -1,2 +1,2 @@
 one
-two
+zwei
"""
ADD = """\
--- /dev/null
+++ b/pkg/deep/new.py
@@ -0,0 +1 @@
+new
"""
DELETE = """\
--- a/pkg/only/here.py
+++ /dev/null
@@ -1 +0,0 @@
-here
"""
AGAIN = """\
--- /dev/null
+++ b/pkg/only/here.py
@@ -0,0 +1 @@
+here again
"""
RENAME = """\
diff --git a/run.sh b/pkg/run.sh
similarity index 100%
rename from run.sh
rename to pkg/run.sh
"""
MODE = """\
diff --git a/pkg/mod.py b/pkg/mod.py
old mode 100644
new mode 100755
"""
MISFIT = CHANGE.replace("-two", "-three")
THROUGH_A_LINK = ADD.replace("pkg/deep/new.py", "link/new.py")
BELOW_A_FILE = ADD.replace("pkg/deep/new.py", "pkg/mod.py/new.py")

CASES = {
    "change": (CHANGE,),
    "add": (ADD,),
    "delete": (DELETE,),
    "delete and add": (DELETE, AGAIN),
    "delete, add, delete": (DELETE, AGAIN, AGAIN.replace("/dev/null", "a/x").replace("+++ b/pkg/only/here.py", "")),
    "rename": (RENAME,),
    "mode": (MODE,),
    "several": (CHANGE, ADD, DELETE, RENAME),
    "twice": (DELETE, DELETE),
    "misfit": (CHANGE, MISFIT),
    "through a link": (THROUGH_A_LINK,),
    "below a file": (BELOW_A_FILE,),
}


@pytest.mark.parametrize("patches", CASES.values(), ids=CASES)
def test_the_same_tree_comes_out(tmp_path, patches):
    base, whole, upper = tmp_path / "base", tmp_path / "whole", tmp_path / "upper"
    _fill(base)
    _fill(whole)
    before = _seen(base)
    upper.mkdir()
    os.utime(upper, (FIXED_MTIME, FIXED_MTIME))
    results = [(apply_patch(whole, patch), apply_patch(upper, patch, base=base)) for patch in patches]
    assert all(one == other for one, other in results)
    assert _seen(_merged(base, upper, tmp_path / "merged")) == _seen(whole)
    assert _seen(base) == before


def test_only_what_is_touched_is_copied(tmp_path):
    base, upper = tmp_path / "base", tmp_path / "upper"
    _fill(base)
    upper.mkdir()
    assert isinstance(apply_patch(upper, CHANGE + DELETE, base=base), Applied)
    assert {str(path.relative_to(upper)) for path in upper.rglob("*")} == {
        "pkg", "pkg/mod.py", "pkg/only", "pkg/only/here.py",
    }  # fmt: skip
    assert is_whiteout(upper / "pkg/only/here.py")


def _fill(folder: Path) -> None:
    files = {"pkg/mod.py": "one\ntwo\n", "pkg/only/here.py": "here\n", "run.sh": "#!/bin/sh\n", "docs/a.txt": "a\n"}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("pkg")
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (FIXED_MTIME, FIXED_MTIME), follow_symlinks=False)


def _merged(base: Path, upper: Path, into: Path) -> Path:
    """What an overlay shows, made by hand: attributes of a folder are the upper layer's."""
    shutil.copytree(base, into, symlinks=True)
    for path in sorted(upper.rglob("*")):
        to = into / path.relative_to(upper)
        if is_whiteout(path):
            to.unlink()
        elif path.is_dir() and not path.is_symlink():
            to.mkdir(exist_ok=True)
        else:
            to.unlink(missing_ok=True)
            shutil.copy2(path, to, follow_symlinks=False)
    for path in (upper, *(path for path in upper.rglob("*") if path.is_dir() and not path.is_symlink())):
        shutil.copystat(path, into / path.relative_to(upper))
    return into


def _seen(folder: Path) -> dict[str, tuple[object, ...]]:
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        facts = path.lstat()
        text = path.read_text() if path.is_file() and not path.is_symlink() else ""
        found[str(path.relative_to(folder))] = (oct(facts.st_mode), facts.st_mtime_ns, text)
    return found


def test_that_a_file_of_the_base_was_patched_is_not_seen_there(tmp_path: Path) -> None:
    base, upper = tmp_path / "base", tmp_path / "upper"
    (base / "pkg").mkdir(parents=True)
    upper.mkdir()
    (base / "pkg" / "mod.py").write_text("one\ntwo\n")
    os.utime(base / "pkg" / "mod.py", (1, FIXED_MTIME))
    assert isinstance(apply_patch(upper, CHANGE, base=base), Applied)
    assert (base / "pkg" / "mod.py").stat().st_atime == 1
