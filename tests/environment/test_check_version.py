"""The version in the key of a readiness changes with the code that decides one."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

from tasks.adapters.runner.collect import COLLECTING
from tasks.environment.readiness import build_problems as trouble
from tasks.environment.readiness import check as readiness
from tasks.environment.readiness import late_imports, plugins
from tasks.environment.readiness.check import CHECK_VERSION

DECIDED_BY = {"b1554bd1a21443bdd6e7952a777fb60e": "7d8aede9a82241a0"}
"""Version → digest of the code that it stands for."""


def meaning(path: Path) -> str:
    """The code of a module without comments, docstrings and imports."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not is_remark(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def is_remark(node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.Import | ast.ImportFrom)


def test_the_version_stands_for_this_code() -> None:
    modules = [Path(str(module.__file__)) for module in (late_imports, plugins, readiness, trouble)]
    code = [meaning(path) for path in (*modules, *sorted(COLLECTING.glob("*.py")))]
    digest = hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]
    assert {CHECK_VERSION: digest} == DECIDED_BY, "can the same inputs give another readiness now? a new CHECK_VERSION"
