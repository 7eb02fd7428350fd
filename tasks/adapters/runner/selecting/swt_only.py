"""Some cases of a file, run by the runner's own adapters: the whole file is collected, and every other case left out.

It stands where the order of cases stands. The adapters themselves stay as they are: their source is part of the key
of every run in the store, so an option there would cost each of them anew.
"""

import difflib
import os
import sys
import unittest

import swt_django
import swt_pytest
import swt_sympy
import swt_unittest


class Only(object):
    """What an adapter takes for an order; `name_of(item)` is the case id, null for what holds cases."""

    is_given = is_reversed = is_shuffled = False

    def __init__(self, cases, name_of, found=lambda item: None):
        self._cases = frozenset(cases)
        self._name_of = name_of
        self._found = found
        self.others = []

    def arrange(self, items, class_of=None):
        items[:] = [item for item in items if self._keeps(item)]

    def arrange_groups(self, items, groups_of, class_of):
        self.arrange(items)

    def _keeps(self, item):
        name = self._name_of(item)
        if name in self._cases:
            self._found(item)
        elif name is not None:
            self.others.append(name)
        return name is None or name in self._cases

    def missing(self):
        """What is said where there was no such case."""
        case = min(self._cases)
        near = difflib.get_close_matches(case, self.others[:5000], 5, 0.3)
        said = "there is no case %s" % case
        return said + ("; near it: %s" % ", ".join(near) if near else "; the file gave no cases")


def stand_in(only):
    """Let the adapters take it for the order that is asked for."""
    for module in (swt_pytest, swt_unittest, swt_django, swt_sympy):
        module.order_of = lambda config: only


def _pytest(relative):
    def name_of(item):
        rootdir = str(getattr(item.config, "rootdir", None) or getattr(item.config, "rootpath", "") or os.getcwd())
        path, sep, rest = item.nodeid.replace("::()::", "::").partition("::")
        return relative(os.path.join(rootdir, path)) + sep + rest

    return name_of


def _unittest(relative):
    def name_of(part):
        return part.id() if isinstance(part, unittest.TestCase) and swt_unittest._unloadable(part) is None else None

    return name_of


def _sympy(relative):
    seen = {}

    def name_of(item):
        """Files are brought into an order too; two cases of one name in a file are told apart as the adapter does."""
        if not callable(item):
            return None
        name = "%s::%s" % (relative(_file_under_way()), swt_sympy._name(item))
        seen[name] = count = seen.get(name, 0) + 1
        return name if count == 1 else "%s#%d" % (name, count)

    return name_of


def _file_under_way():
    """A local of the runner's frame. A case that is wrapped, as by `XFAIL`, or imported has another file's globals."""
    frame = sys._getframe()
    while frame.f_code.co_name != "test_file":
        frame = frame.f_back
    return frame.f_locals["filename"]


NAMES = {"pytest": _pytest, "unittest": _unittest, "django": _unittest, "sympy": _sympy}
"""Runner → what makes a function from an item to its case id, from `Recorder.relative`."""
