"""pytest 3 to 9, through a plugin object that only listens."""

import os
import shlex
import sys

from swt_order import order_of
from swt_recorder import Places, written_name
from swt_report import clip

_CACHE = os.path.join(os.environ.get("TMPDIR", "/tmp"), "pytest-cache-%d" % os.getpid())  # noqa: S108
_BASE = ["-o", "cache_dir=" + _CACHE, "--continue-on-collection-errors"]
"""The cache is empty and stays out of the checkout. Without its plugin a project could not name its options, nor use
it. `-o` comes first: some versions of pytest take all values up to the next option."""
_CHOOSING = ("markexpr", "keyword", "deselect", "ignore", "ignore_glob", "maxfail", "stepwise", "lf", "collectonly")
"""Options by which pytest leaves out cases of the files that it is given, by their names in its namespace."""
_QUIET_CODES = (0, 1, 5)
_COMPLAINTS = {
    2: "pytest was interrupted",
    3: "pytest failed internally",
    4: "pytest refused to start: a usage error, or a configuration or conftest.py that cannot be loaded",
}

_PHASES = ("call", "setup", "teardown")
"""The gravest first. A crash that a plugin reports has no phase of these; it counts as the call's."""
_INTERRUPTED = "interrupted in this phase: "
_FAILURES = {"setup": ("error", "setup"), "teardown": ("error", "teardown")}


def run(config, recorder, root):
    """(exit code, complaint). The repository's own configuration stays in force, but chooses no cases: its `addopts`
    may leave out slow ones, and those of the files that we name have to run."""
    # Astropy of before 3.1 reads the same option, for a folder that is there.
    os.makedirs(_CACHE, exist_ok=True)
    args = _BASE + list(config["test_args"]) + list(config["files"])
    script = os.path.join(os.path.dirname(sys.executable), "pytest")
    sys.argv = [script] + args
    import pytest

    listener = _listener(pytest, recorder, order_of(config), config["files"], tuple(args))  # pytest changes the list
    code = int(pytest.main(args, plugins=[listener]))
    recorder.over = True
    listener.close_open_case()
    complaint = "" if code in _QUIET_CODES else _COMPLAINTS.get(code, "exit code %d" % code)
    if not listener.knows_cases:
        complaint = complaint or "pytest ended before it knew its cases"
    return code, listener.complaint or complaint


def _listener(pytest, recorder, order, files, args):
    """A plugin instance; its class is made here because old and new pytest disagree about unknown hooks."""

    class Plugin(Listener):
        @pytest.hookimpl(optionalhook=True)
        def pytest_runtest_logfinish(self, nodeid):
            self.finish(nodeid)

        @pytest.hookimpl(tryfirst=True)
        def pytest_cmdline_main(self, config):
            _one_process(config)
            _every_case(config, args)

        @pytest.hookimpl(tryfirst=order.is_shuffled, trylast=not order.is_shuffled)
        def pytest_collection_modifyitems(self, items):
            """Cases of one class and one module stay together, so what they share is made as often as before.

            What is shuffled is shuffled before pytest brings together the cases of one parameter of a shared fixture.
            """
            order.arrange_groups(items, _groups, lambda item: getattr(item, "cls", None))

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            """Every plugin has chosen its cases by now; a hook of an earlier stage may see cases that none will run."""
            self.collected(session.items, files)

    return Plugin(recorder)


def _groups(item):
    """Module and classes of a case."""
    return item.nodeid.replace("::()::", "::").split("[", 1)[0].split("::")[:-1]


def _one_process(config):
    """Turn off pytest-xdist where the repository's configuration turns it on: workers would not report to us."""
    for name, value in (("numprocesses", None), ("dist", "no"), ("tx", [])):
        if hasattr(config.option, name):
            setattr(config.option, name, value)


def _every_case(config, args):
    """Give the options that choose cases the values that they have without the repository's `addopts`."""
    own = config._parser.parse_known_args(shlex.split(os.environ.get("PYTEST_ADDOPTS", "")) + list(args))
    for name in _CHOOSING:
        if hasattr(own, name) and hasattr(config.option, name):
            setattr(config.option, name, getattr(own, name))


class Listener(object):
    """Reports in, rows out."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._rootdir = None
        self._reports = []
        self._nodeid = None
        self._again = False
        self._places = Places()
        self.complaint = ""
        self.knows_cases = False

    def pytest_addoption(self, parser):
        """A project without the plugin would not know the option, and some are strict about that."""
        parser.addini("cache_dir", "cache directory path", default=".pytest_cache")

    def pytest_configure(self, config):
        self._rootdir = str(getattr(config, "rootdir", None) or getattr(config, "rootpath", "") or os.getcwd())

    def pytest_internalerror(self, excrepr):
        self.complaint = "pytest failed internally: %s" % (excrepr,)

    def pytest_keyboard_interrupt(self, excinfo):
        """Also for `pytest.exit`, which may come with any exit code."""
        self.complaint = "pytest was interrupted: %s: %s" % (type(excinfo.value).__name__, clip(excinfo.value))

    def pytest_itemcollected(self, item):
        """Cases come in the order of their parameters here; plugins and shared fixtures reorder them later."""
        case = self._case_id(item.nodeid)
        path = case.split("::")[0]
        scope, dot, name = qualname_of(case).rpartition(".")
        self._places.add(case, path, scope + dot + written_name(getattr(item, "obj", None), name))

    def collected(self, items, files):
        """What is about to run. Never called where `-x` ends the collection, which leaves a quiet exit code."""
        self.knows_cases = True
        self._recorder.collected([self._step(self._case_id(item.nodeid)) for item in items], files)

    def pytest_collectreport(self, report):
        if report.outcome == "passed" or not report.nodeid:
            return
        case = self._case_id(report.nodeid)
        path = case.split("::")[0]
        outcome = "skipped" if report.skipped else "error"
        row = (outcome, "collect", _text(report))
        self._recorder.case(case, path, qualname_of(case), case, row, None)

    def pytest_runtest_logstart(self, nodeid):
        if nodeid == self._nodeid and self._again:
            return
        self.close_open_case()
        self._nodeid, self._reports = nodeid, []
        self._recorder.begin(self._case_id(nodeid))

    def pytest_runtest_logreport(self, report):
        if report.nodeid != self._nodeid:
            return
        if report.outcome == "rerun" or (report.when == "setup" and self._reports):
            self._reports = []
        self._again = report.outcome == "rerun"
        if not self._again:
            self._reports.append(report)

    def finish(self, nodeid):
        """Write the row of the case under way."""
        if nodeid != self._nodeid or nodeid is None or (self._again and not self._reports):
            return
        case = self._case_id(nodeid)
        verdict = verdict_of(self._reports, self.complaint)
        duration = sum(getattr(report, "duration", 0.0) for report in self._reports)
        self._recorder.leave()
        _, path, qualname, _ = self._step(case)
        # pytest prints nothing about a case that was interrupted.
        label = "" if verdict[2].startswith(_INTERRUPTED) else case
        self._recorder.case(case, path, qualname, label, verdict, duration)
        self._nodeid = None

    def close_open_case(self):
        self._again = False
        self.finish(self._nodeid)

    def _step(self, case):
        """(case, path, qualname, place) of a collected case; of one that a plugin made later, what its id says."""
        return self._places.of(case) or (case, case.split("::")[0], qualname_of(case), None)

    def _case_id(self, nodeid):
        """`nodeid` relative to the checkout instead of pytest's root folder, without old `()` parts."""
        path, sep, rest = nodeid.replace("::()::", "::").partition("::")
        return self._recorder.relative(os.path.join(self._rootdir, path)) + sep + rest


def qualname_of(case):
    """`tests/t.py::TestX::test_y[a::b]` → `TestX.test_y`."""
    return ".".join(case.partition("::")[2].split("[", 1)[0].split("::"))


def verdict_of(reports, why=""):
    """(outcome, phase, message) of the reports of one case: set-up, call (several with subtests), teardown.

    A set-up that went well says nothing about the call: `pytest.exit`, a KeyboardInterrupt and an internal error of
    pytest end a case without any further report. `why` is what ended it.
    """
    failed = [report for report in reports if report.failed]
    if failed:
        worst = min(failed, key=lambda report: _PHASES.index(report.when) if report.when in _PHASES else 0)
        return _FAILURES.get(worst.when, ("failed", "call")) + (_text(worst),)
    last = ([report for report in reports if report.when != "teardown"] or [None])[-1]
    skipped = last is not None and last.skipped
    ended = {report.when for report in reports}
    for phase in ("setup", "call", "teardown"):
        if phase not in ended and not (skipped and phase == "call"):
            return ("error", phase, _INTERRUPTED + (why or "pytest reported no end of it"))
    expected = hasattr(last, "wasxfail")
    if skipped:
        return ("xfailed" if expected else "skipped", last.when, _text(last))
    return ("xpassed" if expected else "passed", "call", "")


def _text(report):
    """The reason of a skip, or the traceback."""
    if getattr(report, "wasxfail", ""):
        return report.wasxfail
    longrepr = getattr(report, "longrepr", None)
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return longrepr[2]
    try:
        return str(longrepr) if longrepr else ""
    except Exception as error:
        return "(no traceback: %r)" % (error,)
