"""From the configuration to the end record: sets the stage, hands over to an adapter, and leaves."""

import atexit
import contextlib
import json
import os
import sys
import traceback
import types

import swt_children
import swt_coverage
import swt_django
import swt_keeper
import swt_probes
import swt_pytest
import swt_sympy
import swt_unittest
from swt_recorder import Recorder
from swt_report import Report, clip

_ADAPTERS = {
    "pytest": swt_pytest.run,
    "unittest": swt_unittest.run,
    "django": swt_django.run,
    "sympy": swt_sympy.run,
}
_exit = os._exit


def start(config_path):
    """Run what the file says; ends the process with the exit code of the repository's own runner."""
    with open(config_path, encoding="utf-8") as source:
        config = json.load(source)
    os.unlink(config_path)
    report = Report(*swt_keeper.part(config["report"]))
    root = os.getcwd()
    _stand_aside()
    _source_roots(config, root)
    ranges = [tuple(pair) for pair in config.get("probe", [])]
    tracer = _tracer(config, report, root, ranges)
    swt_children.announce(config["report"], ranges, root)
    recorder = Recorder(report, tracer, root)
    code, complaint = _guarded(_ADAPTERS[config["kind"]], config, recorder, root)
    recorder.leave()
    tracer.finish()
    report.add("end", exit=code, complaint=clip(complaint))
    if report.ours:
        _depart()
    _exit(code)


def _stand_aside():
    """`__main__` is an empty module, as under a console script; the adapter sets `sys.argv` and `sys.path[0]`."""
    start.kept = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")


def _source_roots(config, root):
    """What `PYTHONPATH` would do, child processes included."""
    if not config.get("pythonpath"):
        return
    roots = [os.path.join(root, entry) if entry else root for entry in config["source_roots"]]
    sys.path[0:0] = [entry for entry in roots if entry not in sys.path]
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(roots + ([inherited] if inherited else []))


def _tracer(config, report, root, ranges):
    kind = config["tracer"] if ranges else "none"
    if kind == "coverage":
        return swt_coverage.CoverageTracer(report, ranges, root, config.get("coverage_path") or "")
    if kind == "probe":
        return swt_probes.ProbeTracer(report, ranges, root, swt_children.ChildLines(config["report"], ranges))
    return NoTracer()


class NoTracer(object):
    """Watches nothing."""

    def switch(self, case):
        pass

    def finish(self):
        pass


def _guarded(adapter, config, recorder, root):
    """(exit code, complaint) of the adapter, whatever it raises."""
    try:
        return adapter(config, recorder, root)
    except SystemExit as request:
        return _exit_code(request.code), _leaving(request.code, recorder.over)
    except BaseException:
        text = traceback.format_exc()
        sys.stderr and sys.stderr.write(text)
        return 70, text


def _leaving(code, over):
    """What is to be said of a SystemExit. Scripts end by one; whatever raises one before that cuts off the rest."""
    if not over:
        return "the session was left by SystemExit: %s" % clip(code)
    return "" if isinstance(code, (int, type(None))) else clip(code)


def _exit_code(code):
    if code is None:
        return 0
    return int(code) & 255 if isinstance(code, int) else 1


def _depart():
    """Exit handlers run, output is flushed; threads that tests left behind are not waited for."""
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    with contextlib.suppress(BaseException):
        _flush()


def _flush():
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
