"""Breakpoints: from what was typed to lines at which code really stops."""

import ast
import dis
import functools
import os
import re
import sys
import types

_DEPTH = 20
_MODULE = "<module>"
_SKIPPED_FOLDERS = {"__pycache__", "node_modules"}


class NoPlace(Exception):
    """There is no such place; the message says what to type instead."""


class Function(object):
    """A function of a source file."""

    def __init__(self, qualname, node):
        starts = [node.lineno] + [one.lineno for one in node.decorator_list]
        self.qualname = qualname
        self.name = node.name
        self.first = min(starts)
        self.body = _first_line(node.body)


def _first_line(body):
    """Where the first statement begins that is no docstring."""
    at = body[0]
    if len(body) > 1 and isinstance(at, ast.Expr) and type(at.value).__name__ in ("Str", "Constant"):
        at = body[1]
    return min([at.lineno] + [one.lineno for one in getattr(at, "decorator_list", [])])


class Source(object):
    """What is known of a file: its functions, and which code has which lines."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.functions = list(_functions(ast.parse(data, path), ""))
        self.names = {}
        for code in _codes(compile(data, path, "exec", dont_inherit=True)):
            for _, line in dis.findlinestarts(code):
                if line and not (line == code.co_firstlineno and code.co_name != _MODULE and _is_header(code, line)):
                    self.names.setdefault(line, set()).add(code.co_name)

    def line_at(self, line):
        """The first line with code from `line` on; null where there is none."""
        return min((one for one in self.names if one >= line), default=None)

    def owner(self, line):
        """The innermost function whose header `line` lies in; null where it lies in none."""
        found = [one for one in self.functions if one.first <= line < one.body]
        return found[-1] if found else None

    def called(self, name):
        """Functions by qualified name, or by the end of it."""
        exact = [one for one in self.functions if one.qualname == name]
        return exact or [one for one in self.functions if one.qualname.endswith("." + name)]


def _is_header(code, line):
    """Whether the line of the `def` holds nothing else of the function."""
    return any(other and other != line for _, other in dis.findlinestarts(code))


def _functions(node, prefix):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(prefix + child.name, child)
            inner = prefix + child.name + "."
        else:
            inner = prefix + child.name + "." if isinstance(child, ast.ClassDef) else prefix
        for found in _functions(child, inner):
            yield found


def _codes(code):
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            for found in _codes(part):
                yield found


class Breakpoint(object):
    """One place."""

    def __init__(self, number, file, line, names, condition):
        self.number = number
        self.file = file
        self.line = line
        self.names = names
        self.condition = condition
        self.test = compile(condition, "<condition>", "eval") if condition else None
        self.hits = 0

    def told(self):
        """As it is handed to the next start."""
        return {"file": self.file, "line": self.line, "names": sorted(self.names), "condition": self.condition}


class Places(object):
    """All breakpoints, and the files that they may lie in."""

    def __init__(self, root):
        self.root = os.path.realpath(root)
        self.all = []
        self.names = {}
        self._at = {}
        self._spots = set()
        self._sources = {}
        self._files = {}

    def file(self, name):
        """The real path of a file of a code object or a module."""
        known = self._files.get(name)
        if known is None:
            known = self._files[name] = os.path.realpath(os.path.join(self.root, name))
        return known

    def relative(self, file):
        """As it is shown: below the checkout, or below what installed packages and the standard library lie in."""
        if file.startswith(self.root + os.sep):
            return file[len(self.root) + 1 :]
        return re.sub(r"\A.*/(?=site-packages/|lib/python\d[.\d]*/)", "", file)

    def covers(self, code):
        """Whether a breakpoint lies in this code."""
        return code.co_name in self.names and (self.file(code.co_filename), code.co_name) in self._spots

    def hit(self, frame):
        """The breakpoint of the line that the frame is at; null where there is none."""
        code = frame.f_code
        found = self._at.get((self.file(code.co_filename), frame.f_lineno))
        return found if found is not None and code.co_name in found.names else None

    def add(self, file, line, names, condition=""):
        found = self._at.get((file, line))
        if found is not None:
            self.all.remove(found)
        number = found.number if found is not None else max([0] + [one.number for one in self.all]) + 1
        made = Breakpoint(number, file, line, frozenset(names), condition)
        self.all.append(made)
        self.all.sort(key=lambda one: one.number)
        self._at[file, line] = made
        for name in made.names:
            self.names[name] = True
            self._spots.add((file, name))
        return made

    def source(self, file):
        """What is known of a file; `NoPlace` where it is no Python file that can be read."""
        if file not in self._sources:
            try:
                self._sources[file] = Source(file)
            except (OSError, SyntaxError, ValueError, RecursionError) as error:
                raise NoPlace("%s cannot be read: %s" % (self.relative(file), error)) from None
        return self._sources[file]

    def find(self, location, frame):
        """(file, line, names of the code) of `12`, `file.py:12`, `file.py:function` or `function`."""
        head, colon, tail = location.rpartition(":")
        if location.isdigit() or (colon and tail.isdigit()):
            file = self._named_file(head.strip()) if colon else self._current(frame)
            return self._at_line(file, int(tail if colon else location))
        if colon:
            return self._function_in(self._named_file(head.strip()), tail.strip())
        return self._function(location, frame)

    def _current(self, frame):
        if frame is None:
            raise NoPlace("no code is under way: name a file, as in `b path/to/file.py:12`")
        return self.file(frame.f_code.co_filename)

    def _at_line(self, file, line):
        source = self.source(file)
        at = source.line_at(line)
        owner = source.owner(line) or (source.owner(at) if at else None)
        if owner is not None:
            at = source.line_at(owner.body)
        if at is None:
            raise NoPlace("%s has no code at line %d or after it" % (self.relative(file), line))
        names = source.names[at]
        if owner is not None and owner.name in names:
            return file, at, [owner.name]
        plain = [name for name in names if not name.startswith("<") or name == _MODULE]
        return file, at, plain or list(names)

    def _function_in(self, file, name):
        found = self.source(file).called(name)
        if not found:
            raise NoPlace("%s has no function %s" % (self.relative(file), name))
        return self._one([(file, one) for one in found], name)

    def _one(self, found, name):
        if len(found) > 1:
            each = ["%s:%s" % (self.relative(file), one.qualname) for file, one in found[:20]]
            raise NoPlace("there are %d functions %s; name one: %s" % (len(found), name, ", ".join(each)))
        file, function = found[0]
        return self._at_line(file, function.first)

    def _function(self, name, frame):
        if not all(part.isidentifier() for part in name.split(".")):
            raise NoPlace("%r is no place: use LINE, FILE:LINE, FUNCTION or FILE:FUNCTION" % name)
        for code in self._codes_named(name, frame):
            file = self.file(code.co_filename)
            for one in self._functions_of(file):
                if one.first == code.co_firstlineno and one.name == code.co_name:
                    return self._at_line(file, one.first)
        found = self._static(self._current(frame), name) if frame is not None else []
        if not found:
            found = [pair for file in self._loaded(name) for pair in self._static(file, name)]
        if not found:
            raise NoPlace("there is no function %s in what is loaded; name its file: b FILE:%s" % (name, name))
        return self._one(found, name)

    def _functions_of(self, file):
        try:
            return self.source(file).functions
        except NoPlace:
            return []

    def _static(self, file, name):
        try:
            return [(file, one) for one in self.source(file).called(name)]
        except NoPlace:
            return []

    def _codes_named(self, name, frame):
        """Code of what the name means in the frame, or in a module that it begins with."""
        parts = name.split(".")
        tries = []
        if frame is not None:
            for space in (frame.f_locals, frame.f_globals):
                if parts[0] in space:
                    tries.append((space[parts[0]], parts[1:]))
                    break
        for size in range(len(parts) - 1, 0, -1):
            module = sys.modules.get(".".join(parts[:size]))
            if module is not None:
                tries.append((module, parts[size:]))
                break
        for value, rest in tries:
            try:
                for part in rest:
                    value = getattr(value, part)
            except Exception:
                continue
            if isinstance(value, type):
                value = vars(value).get("__init__", value)
            codes = codes_of(value)
            wanted = "__init__" if parts[-1] not in [one.co_name for one in codes] else parts[-1]
            for code in [one for one in codes if one.co_name == wanted][:1] or codes[:1]:
                yield code

    def _loaded(self, name):
        """Files of the checkout, of modules that are loaded, that define something of that name."""
        wanted = ("def " + name.split(".")[-1]).encode("utf-8")
        for file in sorted(one for one in self._loaded_files() if one.startswith(self.root + os.sep)):
            try:
                with open(file, "rb") as source:
                    if wanted in source.read():
                        yield file
            except OSError:
                continue

    def _loaded_files(self):
        files = (vars(module).get("__file__") for module in list(sys.modules.values()) if hasattr(module, "__dict__"))
        return {self.file(file) for file in files if isinstance(file, str) and file.endswith(".py")}

    def _named_file(self, name):
        for path in (os.path.join(self.root, name), name):
            if os.path.isfile(path):
                return os.path.realpath(path)
        ending = os.sep + name.lstrip("./")
        loaded = {path for path in self._loaded_files() if path.endswith(ending)}
        found = sorted({path for path in self._walk() if path.endswith(ending)} or loaded)
        if len(found) == 1:
            return os.path.realpath(found[0])
        if not found:
            raise NoPlace("there is no file %s" % name)
        each = ", ".join(self.relative(path) for path in found[:20])
        raise NoPlace("there are %d files %s; name one: %s" % (len(found), name, each))

    def _walk(self):
        for folder, inner, files in os.walk(self.root):
            inner[:] = [one for one in inner if not one.startswith(".") and one not in _SKIPPED_FOLDERS]
            for file in files:
                yield os.path.join(folder, file)


def codes_of(value, depth=0):
    """Code of a callable, the outermost first: through `__wrapped__`, methods, partials and closures."""
    if depth > _DEPTH:
        return []
    if isinstance(value, functools.partial):
        return codes_of(value.func, depth + 1)
    if isinstance(value, property):
        return codes_of(value.fget, depth + 1)
    value = getattr(value, "__func__", value)
    if not isinstance(value, types.FunctionType):
        wrapped = getattr(value, "__wrapped__", None)
        return codes_of(wrapped, depth + 1) if wrapped is not None else []
    found = [value.__code__]
    wrapped = vars(value).get("__wrapped__")
    if wrapped is not None:
        return found + codes_of(wrapped, depth + 1)
    for cell in value.__closure__ or ():
        try:
            inner = cell.cell_contents
        except ValueError:
            continue
        if isinstance(inner, types.FunctionType):
            found += codes_of(inner, depth + 1)
    return found
