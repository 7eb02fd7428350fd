"""Docstrings of one version of a file on the functions of another.

A docstring is read by people and has no effect on what a function does; but whoever compares it with that of the base
commit sees a fix that changes it, and knows nothing of the issue. So a placebo has those of the fix.

Left alone: decorated functions (a command's docstring is what its help says), those whose docstring is a grammar (`p_…`
and `t_…` of PLY), modules and classes (printed as help, put into schemas), and files in which the fix changes nothing
but docstrings: there they are what it is about.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tasks.adapters.patch.read import split_lines
from tasks.domain.syntax import Block, alike
from tasks.evaluate.quoting import parse

_GRAMMAR = ("p_", "t_")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_docstrings(text: str, before: ast.Module, after: ast.Module) -> str:
    """`text`, which is `before` rendered and with quotes, with the docstrings that functions have in `after`.

    It comes back as it is where a docstring has no lines of its own.
    """
    tree = parse(text)
    if not isinstance(tree, ast.Module) or alike(before, after, _undocumented):
        return text
    lines, documented = split_lines(text), _functions(after)
    for name, node in sorted(_functions(tree).items(), key=lambda item: -item[1].lineno):
        new = _docstring(documented[name]) if name in documented else _docstring(node)
        if new != (old := _docstring(node)):
            first = node.body[0]
            start = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))]) - 1
            end = start if old is None else first.end_lineno or first.lineno
            lines[start:end] = [_rendered(new, first.col_offset)]
    made = parse("".join(lines))
    kept = isinstance(made, ast.Module) and alike(made, tree, _undocumented)
    return "".join(lines) if kept else text


def _docstring(node: _Function) -> str | None:
    return ast.get_docstring(node, clean=False)


def _functions(tree: ast.Module) -> dict[str, _Function]:
    """Those whose docstring nothing reads, by qualified name, where there is one of the name."""
    found = list(_named(tree, ""))
    numbers = Counter(name for name, _ in found)
    return {
        name: node
        for name, node in found
        if numbers[name] == 1 and not node.decorator_list and not node.name.startswith(_GRAMMAR)
    }


def _named(owner: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in owner.body:
        if isinstance(node, _Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _named(node, f"{prefix}{node.name}.")


def _rendered(docstring: str | None, indent: int) -> str:
    """Its lines as the first of a body, as a rendered file has them; what stands for it where there is none."""
    if docstring is None:
        return " " * indent + "pass\n"
    body: list[ast.stmt] = [ast.Expr(ast.Constant(docstring)), ast.Pass()]
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    made = ast.FunctionDef(name="f", args=arguments, body=body, decorator_list=[], lineno=1, col_offset=0)
    head, _, rest = ast.unparse(made).partition("\n")
    assert head == "def f():"
    return " " * (indent - 4) + rest.removesuffix("    pass")


def _undocumented(owner: ast.AST, block: Block) -> Block:
    """The body of a function without its docstring and without `pass`; other blocks as they are."""
    if not isinstance(owner, _Function):
        return block
    return [each for each in block[_docstring(owner) is not None :] if not isinstance(each, ast.Pass)]
