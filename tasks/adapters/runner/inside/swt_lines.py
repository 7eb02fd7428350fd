"""Which lines have code, as this interpreter sees it."""

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


def scopes(code, found=None):
    """{(name, first line): lines} of the code objects nested in `code`, without the steps that only set them up."""
    found = {} if found is None else found
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
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


def executable_of_file(absolute, lines):
    """(sorted watched lines that have code, note); nothing if the file is missing or not Python."""
    try:
        with open(absolute, "rb") as source:
            code = quiet_compile(source.read(), absolute)
    except Exception as error:
        return [], "cannot be compiled: %r" % (error,)
    return sorted(set(lines) & code_lines(code)), ""
