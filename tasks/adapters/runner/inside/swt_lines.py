"""Which lines have code, as this interpreter sees it."""

import ast
import dis
import types
import warnings

_PREAMBLE = frozenset(("RESUME", "RETURN_GENERATOR", "GEN_START", "COPY_FREE_VARS", "MAKE_CELL"))


def code_lines(code):
    """{line} of a code object and everything nested in it."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            lines |= code_lines(constant)
    return lines


def docstrings(tree):
    """{line} of the docstrings in a syntax tree: they document, although a class and a module store them by code."""
    texts, others = set(), set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.ClassDef)) and body and ast.get_docstring(node, clean=False) is not None:
            # Before 3.8 a string says where it ends, and so do its instructions.
            ends = [body[0].lineno, body[0].value.lineno, getattr(body[0], "end_lineno", 1)]
            texts.update(range(body[0].lineno, max(ends) + 1))
            others.update(statement.lineno for statement in body[1:])
        if isinstance(node, ast.ClassDef):
            others.add(node.lineno)
    return texts - others


def scopes(code, found=None):
    """{(name, first line): lines} of the lambdas and generator expressions nested in `code`, without the steps that
    only set them up. To disassemble every function took a fifth of all that planting probes takes."""
    found = {} if found is None else found
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name in ("<lambda>", "<genexpr>"):
                lines = found.setdefault((constant.co_name, constant.co_firstlineno), set())
                lines.update(_working_lines(constant))
            scopes(constant, found)
    return found


def _working_lines(code):
    """Lines that start an instruction which a line tracer stops at."""
    current, lines = None, set()
    starts = dict(dis.findlinestarts(code))
    for instruction in dis.get_instructions(code):
        current = starts.get(instruction.offset, current)
        if current and instruction.opname not in _PREAMBLE:
            lines.add(current)
    return lines


def quiet_compile(source, path, flags=0):
    """`compile` without the warnings that a module loaded from bytecode would not give either."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, path, "exec", flags, True)


def executable_of_file(absolute):
    """(sorted lines that have code and are no docstring, note); none if it is missing or not Python."""
    try:
        with open(absolute, "rb") as source:
            text = source.read()
        code = quiet_compile(text, absolute)
        documents = docstrings(quiet_compile(text, absolute, ast.PyCF_ONLY_AST))
    except Exception as error:
        return [], "cannot be compiled: %r" % (error,)
    return sorted(code_lines(code) - documents), ""
