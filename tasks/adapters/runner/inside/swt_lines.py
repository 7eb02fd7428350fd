"""Which lines have code, as this interpreter sees it."""

import dis
import types
import warnings


def code_lines(code):
    """{line} of a code object and everything nested in it."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            lines |= code_lines(constant)
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
