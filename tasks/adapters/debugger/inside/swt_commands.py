"""The commands: what is typed where the test is stopped, and the text that answers it."""

import inspect
import linecache
import pprint

from swt_places import NoPlace
from swt_show import cut, guarded, pairs, plain, shown

_AROUND = 5
_STACK_TOP, _STACK_END = 5, 40
_MOTIONS = {"s": "step", "n": "next", "r": "return", "c": "run", "unt": "until"}
_LONG = {
    "step": "s", "next": "n", "return": "r", "continue": "c", "cont": "c", "until": "unt", "break": "b", "where": "w",
    "bt": "w", "list": "l", "longlist": "ll", "l.": "l .", "up": "u", "down": "d", "print": "p", "a": "args",
}  # fmt: skip
_ALL = "s n r c unt b p pp whatis args locals() globals() l l. ll w u d restart"
_OVER = "The test is over: `restart` starts it again, with the same breakpoints."


class Motion(Exception):
    """A command that lets the test go on: mode and line."""


class Commands(object):
    """Answers one command at a time for the view that it is given."""

    def __init__(self, places):
        self._places = places
        self._table = {
            "b": self._break,
            "p": lambda view, text: self._value(view, text, shown),
            "pp": lambda view, text: self._value(view, text, _pretty),
            "whatis": lambda view, text: self._value(view, text, _kind),
            "args": self._args,
            "locals()": lambda view, text: _names(view.frame.f_locals, view.frame.f_code.co_varnames),
            "globals()": lambda view, text: _names(view.frame.f_globals),
            "l": self._list,
            "ll": self._whole,
            "w": self._where,
            "u": lambda view, text: self._move(view, -1, text),
            "d": lambda view, text: self._move(view, 1, text),
        }

    def answer(self, view, typed):
        """The text that answers a command. `Motion` for one that lets the test go on."""
        name, text = _split(typed)
        if name in _MOTIONS:
            self._go(view, name, text)
        if name not in self._table:
            return "*** there is no command %r; there are: %s" % (name, _ALL)
        if view.frame is None and name != "b":
            return "*** " + _OVER
        return cut(self._table[name](view, text))

    def here(self, view):
        """Where it is, as after every stop."""
        said = [view.why] if view.why else []
        if view.returning:
            said.append("--Return-- " + shown(view.returned[0], 500))
        if view.error is not None:
            said += _causes(view.error)
        if view.frames:
            said.append(self._place(view, view.index))
        return cut("\n".join(said))

    def _go(self, view, name, text):
        if view.frame is None:
            raise NoPlace(_OVER)
        line = 0
        if name == "unt":
            if text and not text.isdigit():
                raise NoPlace("until takes a line number")
            line = int(text) if text else view.line + 1
        raise Motion(_MOTIONS[name], line)

    def _place(self, view, index, mark="> "):
        frame, line = view.frames[index]
        code = frame.f_code
        file = self._places.relative(self._places.file(code.co_filename))
        source = linecache.getline(code.co_filename, line, frame.f_globals).strip()
        return "%s%s(%d)%s()\n-> %s" % (mark, file, line, code.co_name, source)

    def _where(self, view, text):
        count = len(view.frames)
        said = ["(%d frames of the test runner above)" % view.above] if view.above else []
        for index in range(count):
            if _STACK_TOP <= index < count - _STACK_END and index != view.index:
                if index == _STACK_TOP:
                    said.append("  ... %d frames left out" % (count - _STACK_TOP - _STACK_END))
                continue
            said.append(self._place(view, index, "> " if index == view.index else "  "))
        return _with_end("\n".join(said))

    def _move(self, view, by, text):
        steps = int(text) if text.isdigit() else 1
        to = min(max(view.index + by * steps, 0), len(view.frames) - 1)
        if to == view.index:
            return "*** this is the %s frame" % ("oldest" if by < 0 else "newest")
        view.index, view.listed = to, None
        return self._place(view, to)

    def _value(self, view, text, show):
        if not text:
            return "*** an expression is missing, as in `p x + 1`"
        frame = view.frame
        held = []

        def value():
            held.append(evaluated(text, frame))
            return ""

        said = guarded(value)
        return show(held[0]) if held else said

    def _args(self, view, text):
        code, found = view.frame.f_code, view.frame.f_locals
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        names = [(name, found[name]) for name in code.co_varnames[:count] if name in found]
        return pairs(names) if names else "(no arguments)"

    def _list(self, view, text):
        file = view.frame.f_code.co_filename
        lines = linecache.getlines(file, view.frame.f_globals)
        if not lines:
            return "*** the source of %s cannot be read" % file
        if text == ".":
            return self._numbered(view, lines, view.line, view.line)
        first, last = self._span(view, text)
        if first > len(lines):
            return "*** the file ends at line %d" % len(lines)
        view.listed = last
        return self._numbered(view, lines, first, min(last, len(lines)))

    def _span(self, view, text):
        numbers = [int(part) for part in text.replace(",", " ").split() if part.isdigit()]
        if len(numbers) > 1:
            first, second = numbers[:2]
            return first, second if second >= first else first + second
        if numbers:
            return max(1, numbers[0] - _AROUND), numbers[0] + _AROUND
        if view.listed is not None:
            return view.listed + 1, view.listed + 2 * _AROUND + 1
        return max(1, view.line - _AROUND), view.line + _AROUND

    def _whole(self, view, text):
        frame = view.frame
        try:
            found, first = inspect.getsourcelines(frame)
        except (OSError, TypeError, IndexError, SyntaxError):
            return "*** the source of this function cannot be read"
        lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
        return self._numbered(view, lines, max(1, first), max(1, first) + len(found) - 1)

    def _numbered(self, view, lines, first, last):
        file = self._places.file(view.frame.f_code.co_filename)
        stops = {one.line for one in self._places.all if one.file == file}
        said = []
        for number in range(first, last + 1):
            mark = "B" if number in stops else " "
            mark += "->" if number == view.line else "  "
            said.append("%4d %s\t%s" % (number, mark, lines[number - 1].rstrip()))
        return "\n".join(said)

    def _break(self, view, text):
        if not text:
            return "\n".join(map(self._told, self._places.all)) or "no breakpoints"
        location, _, condition = (part.strip() for part in text.partition(","))
        try:
            file, line, names = self._places.find(location, view.frame)
            made = self._places.add(file, line, names, condition)
        except NoPlace as problem:
            return "*** " + str(problem)
        except SyntaxError as problem:
            return "*** the condition %r is no expression: %s" % (condition, problem.msg)
        source = linecache.getline(file, line).strip()
        return "%s\n-> %s" % (self._told(made), source)

    def _told(self, one):
        only = ", only if %s" % one.condition if one.condition else ""
        times = "once" if one.hits == 1 else "%d times" % one.hits
        return "Breakpoint %d at %s:%d%s, hit %s" % (
            one.number, self._places.relative(one.file), one.line, only, times,
        )  # fmt: skip


def evaluated(text, frame):
    """The value of an expression in a frame; what it defines inside (comprehensions) sees the locals too."""
    inner = dict(frame.f_locals)
    names = dict(frame.f_globals)
    names.update(inner)
    return eval(compile(text.strip(), "<typed>", "eval"), names, inner)


def _split(typed):
    typed = typed.strip()
    if typed in ("locals()", "globals()"):
        return typed, ""
    name, _, text = typed.partition(" ")
    name = _LONG.get(name, name)
    if " " in name:
        name, _, text = name.partition(" ")
    return name, text.strip()


def _pretty(value):
    return cut(guarded(lambda: pprint.pformat(value, width=100)))


def _kind(value):
    if inspect.isroutine(value):
        return guarded(lambda: "%s %s" % (type(value).__name__, value.__name__))
    return shown(type(value))


def _names(found, first=()):
    """All variables, those of `first` in its order before the others."""
    names = [name for name in first if name in found] + [name for name in list(found) if name not in first]
    return pairs([(plain(str(name)), found[name]) for name in names]) or "(none)"


def _causes(error):
    """What an exception came from, the nearest first."""
    said = []
    while len(said) < 5:
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None:
            break
        tb, place = cause.__traceback__, ""
        while tb is not None:
            place = " at %s:%d" % (tb.tb_frame.f_code.co_filename, tb.tb_lineno)
            tb = tb.tb_next
        said.append("  which came from %s%s" % (cut(guarded(lambda one=cause: repr(one)), 300), place))
        error = cause
    return said


def _with_end(text, limit=4000):
    """A stack that is too long loses its middle, never where it is now."""
    if len(text) <= limit:
        return text
    half = limit // 2 - 40
    return text[:half] + "\n... cut: %d characters in all\n" % len(text) + text[-half:]
