"""The kinds of edit in the corpus: what models do, well or nearly so."""

from __future__ import annotations

import ast

from benchmarks.edit_corpus import Case, Draft, Make, Target, block, case_of, changed, parsed

FENCES = ("", "```custom-diff\n", "```\n")


def _is_function(target: Target) -> bool:
    return isinstance(target.node, ast.FunctionDef | ast.AsyncFunctionDef)


def _rewrite(
    draft: Draft, name: str, target: Target | None, *, misnamed: bool = False, flush: bool = False
) -> Case | None:
    if target is None:
        return None
    code = changed(target)
    if flush:
        if any('"""' in line or "'''" in line or line.endswith("\\") for line in code):
            return None
        code = [line.removeprefix(" " * target.node.col_offset) for line in code]
    if misnamed:
        old, new = f"def {target.node.name}(", f"def {target.node.name}s("
        code = [line.replace(old, new) for line in code]
    prefix = f"{target.owner}." if target.owner else ""
    reply = block(draft.path, "rewrite", draft.near(target.start), "\n".join(code))
    return case_of(draft, name, reply, taken=[target], given=parsed(code, prefix))


def rewrite_function(draft: Draft) -> Case | None:
    return _rewrite(draft, "rewrite function", draft.pick(lambda one: _is_function(one) and not one.owner))


def rewrite_method(draft: Draft) -> Case | None:
    return _rewrite(draft, "rewrite method", draft.pick(lambda one: _is_function(one) and bool(one.owner)))


def rewrite_flush_method(draft: Draft) -> Case | None:
    """A method written without its indentation."""
    target = draft.pick(lambda one: _is_function(one) and bool(one.owner))
    return _rewrite(draft, "rewrite method, flush left", target, flush=True)


def rewrite_async(draft: Draft) -> Case | None:
    return _rewrite(draft, "rewrite async", draft.pick(lambda one: isinstance(one.node, ast.AsyncFunctionDef)))


def rewrite_decorated(draft: Draft) -> Case | None:
    return _rewrite(
        draft, "rewrite decorated", draft.pick(lambda one: bool(one.node.decorator_list) and _is_function(one))
    )


def rewrite_class(draft: Draft) -> Case | None:
    target = draft.pick(lambda one: isinstance(one.node, ast.ClassDef) and not one.owner and len(one.lines) < 200)
    return _rewrite(draft, "rewrite class", target)


def rewrite_misnamed(draft: Draft) -> Case | None:
    """The name is a letter off, and the line is right."""
    return _rewrite(draft, "rewrite, name nearly right", draft.pick(_is_function), misnamed=True)


def rewrite_of_two(draft: Draft) -> Case | None:
    """A method whose name several classes have: the line tells which."""
    functions = [one for one in draft.targets if isinstance(one.node, ast.FunctionDef) and one.owner]
    names = [one.node.name for one in functions]
    several = [one for one in functions if names.count(one.node.name) > 1 and names.count(one.node.name) < 9]
    if len({one.name for one in several}) < 2:
        return None
    target = draft.chance.choice(several)
    if len([one for one in several if one.name == target.name]) > 1:
        return None
    code = changed(target)
    reply = block(draft.path, "rewrite", target.start, "\n".join(code))
    return case_of(draft, "rewrite one of several", reply, taken=[target], given=parsed(code, f"{target.owner}."))


def insert_function(draft: Draft) -> Case | None:
    code = ["def test_of_the_issue():", "    # checks once more", "    assert str(1) == '1'"]
    fence = draft.chance.choice(FENCES)
    reply = fence + block(draft.path, "insert", "EOF", "\n".join(code)) + ("```\n" if fence else "")
    return case_of(draft, "insert function at EOF", reply, given=parsed(code))


def insert_with_imports(draft: Draft) -> Case | None:
    code = ["import decimal", "", "@staticmethod", "def of_the_issue(x=decimal.Decimal(1)):", "    return x"]
    reply = "The test:\n\n" + block(draft.path, "insert", "EOF", "\n".join(code))
    return case_of(draft, "insert imports and function", reply, given=parsed(code))


def insert_future(draft: Draft) -> Case | None:
    """`from __future__` has to come first, wherever the code goes."""
    code = ["from __future__ import annotations", "def test_of_the_issue():", "    assert True"]
    return case_of(
        draft, "insert with __future__", block(draft.path, "insert", "EOF", "\n".join(code)), given=parsed(code)
    )


def insert_imports(draft: Draft) -> Case | None:
    code = ["import decimal"]
    return case_of(draft, "insert import at BOF", block(draft.path, "insert", "BOF", code[0]), given=parsed(code))


def insert_method(draft: Draft) -> Case | None:
    """A method, as long as the class that it is for, by line."""
    target = draft.pick(lambda one: _is_function(one) and bool(one.owner))
    if target is None:
        return None
    indent = " " * target.node.col_offset
    code = [
        f"{indent}def test_of_the_issue(self):",
        f"{indent}    # checks once more",
        f"{indent}    assert str(1) == '1'",
    ]
    reply = block(draft.path, "insert", target.start, "\n".join(code))
    return case_of(draft, "insert method", reply, given=parsed(code, f"{target.owner}."))


def insert_class(draft: Draft) -> Case | None:
    code = [
        "class TestOfTheIssue:",
        "    async def test_it(self):",
        "        # checks once more",
        "        assert True",
    ]
    return case_of(draft, "insert class", block(draft.path, "insert", "EOF", "\n".join(code)), given=parsed(code))


def insert_string(draft: Draft) -> Case | None:
    """A method with a string whose lines must not be moved."""
    target = draft.pick(lambda one: _is_function(one) and bool(one.owner))
    if target is None:
        return None
    code = ["def test_of_the_issue(self):", "    text = '''", "a", "  b'''", "    assert text  # checks once more"]
    reply = block(draft.path, "insert", target.start, "\n".join(code))
    return case_of(draft, "insert method with a long string", reply, given=parsed(code, f"{target.owner}."))


def new_file(draft: Draft) -> Case | None:
    code = ["# checks once more", "import os", "", "", "def test_of_the_issue():", "    assert os.sep"]
    folder = draft.path.rpartition("/")[0]
    path = f"{folder}/test_of_the_issue.py".removeprefix("/")
    reply = block(path, "insert", "BOF", "\n".join(code))
    return Case(
        name="new file", path=path, base=None, reply=reply, taken=(), given=tuple(parsed(code)),
        comments=("# checks once more",),
    )  # fmt: skip


def unclosed(draft: Draft) -> Case | None:
    """A reply that was cut in its second function: the first is whole."""
    code = ["def test_of_the_issue():", "    assert True", ""]
    cut = [*code, "def test_more_of_it():", "    assert f("]
    reply = block(draft.path, "insert", "EOF", "\n".join(cut)).removesuffix("end diff\n")
    return case_of(draft, "insert, cut off", reply, given=parsed(code))


def delete_definition(draft: Draft) -> Case | None:
    """Not in the paper's format as its figure has it, but in its text."""
    target = draft.pick(lambda one: _is_function(one) and one.name.rpartition(".")[2].startswith("test"))
    siblings = [one for one in draft.targets if target and one.owner == target.owner]
    if target is None or len(siblings) < 2:
        return None
    reply = block(draft.path, "delete", draft.near(target.start), "\n".join(target.lines))
    return case_of(draft, "delete", reply, taken=[target])


KINDS: tuple[Make, ...] = (
    rewrite_function,
    rewrite_method,
    rewrite_flush_method,
    rewrite_async,
    rewrite_decorated,
    rewrite_class,
    rewrite_misnamed,
    rewrite_of_two,
    insert_function,
    insert_with_imports,
    insert_future,
    insert_imports,
    insert_method,
    insert_class,
    insert_string,
    new_file,
    unclosed,
    delete_definition,
)
