"""Golden tests alone and together, before and after a fix, in real runs of a small repository."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tasks.repair.golden_isolation import look_alone
from tasks.repair.suite import TargetTests, changes_of
from tests.fakes.toy_tasks import TOY_TASKS

CODE = "ITEMS = []\n\n\ndef price():\n    return 2\n"
FIX = "--- a/stock.py\n+++ b/stock.py\n@@ -4,2 +4,2 @@\n def price():\n-    return 2\n+    return 3\n"
LINES = """import stock


def test_fill(): stock.ITEMS.append('salt')
def test_price(): assert stock.price() == 3
def test_needs_salt(): assert stock.price() * len(stock.ITEMS) == 3
def test_fails(): assert stock.price() == 4
""".splitlines(keepends=True)
TESTS = f"--- /dev/null\n+++ b/tests/test_own.py\n@@ -0,0 +1,{len(LINES)} @@\n" + "".join(f"+{line}" for line in LINES)
FILL, PRICE, SALT = (f"tests/test_own.py::{name}" for name in ("test_fill", "test_price", "test_needs_salt"))


def test_what_the_fix_turns_is_run_alone_on_both_sides(tmp_path: Path) -> None:
    """One test needs what an earlier one leaves behind: alone it fails in the same way before, and also after."""
    toy = replace(TOY_TASKS[0], name="stock", files={"stock.py": CODE})
    with toy.bench(tmp_path) as bench:
        tests = TargetTests.of_patch("golden", TESTS, bench.base, None)
        fix = changes_of("the fix", FIX, bench.base)
        seen = list(look_alone(bench, tests, fix, 18))
        assert [(one.state, one.case.case_id, one.lone.reason, one.lone.ended, one.lone.earlier) for one in seen] == [
            ("before", PRICE, "", "AssertionError", ()),
            ("before", SALT, "", "AssertionError", ()),
            ("after", PRICE, "", "passed", ()),
            ("after", SALT, "earlier-case", "AssertionError", (FILL,)),
        ]
        wanted = replace(tests, fail_to_pass=frozenset({SALT}))
        assert [one.case.case_id for one in look_alone(bench, wanted, fix, 1)] == [SALT, SALT]
