"""What a case says before it runs: why it skips itself, and fixtures that it asks for and nothing defines.

CPython 3.6 to 3.13, standard library only.
"""

import importlib.util
import re
import sys

_NEEDED = re.compile(r"""\bimportorskip\(\s*(?:modname\s*=\s*)?["']([A-Za-z_][\w.]*)["']""")


def needed_by(path):
    """Reasons to skip that stand in a file of tests, in whichever function: modules that are wanted and not there."""
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            names = set(_NEEDED.findall(source.read()))
    except OSError:
        return []
    return ["could not import %r" % name for name in names if not is_there(name.split(".")[0])]


def is_there(name):
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def marked(item):
    """Reasons of the marks by which a case skips itself."""
    marks = list(item.iter_markers()) if hasattr(item, "iter_markers") else []
    reasons = [mark.kwargs.get("reason") or "".join(map(str, mark.args[:1])) for mark in marks if mark.name == "skip"]
    return reasons + [mark.kwargs.get("reason") for mark in marks if mark.name == "skipif" and holds(mark)]


def holds(mark):
    """Whether the condition of a mark is true. One that is a text would have to be run."""
    condition = mark.args[0] if mark.args else mark.kwargs.get("condition")
    try:
        return not isinstance(condition, str) and bool(condition)
    except Exception:
        return False


def decorated(item):
    """Reasons of unittest's decorators, on the case or its class."""
    method = getattr(item, "obj", None) or getattr(item, getattr(item, "_testMethodName", ""), None)
    owners = (method, getattr(item, "cls", None) or type(item))
    skipping = [one for one in owners if getattr(one, "__unittest_skip__", False) is True]
    return [getattr(one, "__unittest_skip_why__", "") for one in skipping]


def missing_fixtures(item):
    """Names of fixtures that a case asks for and that nothing defines."""
    info = getattr(item, "_fixtureinfo", None)
    asked = set(getattr(info, "names_closure", ()))
    given = set(getattr(info, "name2fixturedefs", ())) | {"request"}
    given |= set(getattr(getattr(item, "callspec", None), "params", ()))
    given |= set(getattr(getattr(item, "callspec", None), "funcargs", ()))
    return asked - given
