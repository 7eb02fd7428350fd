"""Collects test files: `python swt_collect.py CONFIG.json`, with the checkout as the current folder.

No test is run, but where a state names files of which nobody knows which cases read them (`watch`): then those cases
run that may, and what they open is watched.

CPython 3.6 to 3.13, standard library only. Each state of the code is looked at by a process of its own, one after the
other in one checkout: the files that differ are put in place in between. Bytecode may be written, since the checkout is
thrown away and what is put in place has another time than the rest: the second look costs half of the first.

What was found goes into the report as one JSON document:

    {"states": [{"name", "files": {path: error}, "cases", "packages": {name: error}, "fixtures", "complaint", "exit",
                 "ids": [case], "skips": [reason], "readers": [{"case", "opened": [path], "found_by"}]}]}
"""

import importlib
import json
import os
import runpy
import sys
import time
import traceback
import types
import unittest

_CHARACTERS = 8000
_SKIPS, _REASON = 100, 300  # so many reasons to skip, of so many characters
swt_changes = swt_items = swt_watch = None  # ours, imported by `main`
_FOLDER = os.path.dirname(os.path.realpath(__file__))


def main(config_path):
    """Look at every state that the configuration names."""
    global swt_changes, swt_items, swt_watch
    import swt_changes  # before their folder leaves the path
    import swt_items
    import swt_watch

    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != _FOLDER]
    with open(config_path, encoding="utf-8") as source:
        config = json.load(source)
    found = []
    for state in config["states"]:
        swt_changes.put_in_place(state["changes"], state["links"])
        seen = apart(config, state) if state["files"] else Found().facts()
        seen["name"] = state["name"]
        for path in state["alone"]:
            add_alone(seen, path, apart(config, dict(state, files=[path], watch=[], packages=[])))
        found.append(seen)
    with open(config["report"], "w", encoding="utf-8") as target:
        json.dump({"states": found}, target)


def add_alone(seen, path, found):
    """A file of data that the suite itself takes for tests: a doctest, say, or what a plugin reads."""
    if found["ids"] and not found["complaint"] and not found["files"]:
        seen["ids"] += found["ids"]
        seen["cases"] += found["cases"]
        known = [row["case"] for row in seen["readers"]]
        rows = [{"case": case, "opened": [path], "found_by": "collected"} for case in found["ids"]]
        seen["readers"] += [row for row in rows if row["case"] not in known]


def apart(config, state):
    """What a process of its own finds, however it ends."""
    listen, speak = os.pipe()
    child = os.fork()
    if not child:
        os.close(listen)
        look(config, state, speak)
    os.close(speak)
    with os.fdopen(listen, "rb") as source:
        data = source.read()
    _, status = os.waitpid(child, 0)
    try:
        found = json.loads(data.decode("utf-8"))
    except ValueError:
        found = Found().facts()
        found["complaint"] = found["complaint"] or "the process ended while it collected, status %d" % status
    found["exit"] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    return found


def look(config, state, speak):
    """Collect, import and tell; never returns."""
    found, root = Found(), os.getcwd()
    try:
        sys.modules["__main__"] = types.ModuleType("__main__")
        watch = swt_watch.Watch(state["watch"], config["watch_seconds"]) if state["watch"] else None
        if watch is not None:
            watch.start()
        _COLLECTORS[config["kind"]](config, state["files"], found, watch)
    except SystemExit as request:
        if request.code not in (None, 0, 1):
            found.complain("exit code %s" % (request.code,))
    except Done:
        pass
    except BaseException:
        found.complain(traceback.format_exc())
    os.chdir(root)
    for path in state["files"]:
        found.skip(swt_items.needed_by(path))
    for package in state["packages"]:
        import_package(package, found)
    data = json.dumps(found.facts()).encode("utf-8")
    while data:
        data = data[os.write(speak, data) :]
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0)


def import_package(name, found):
    """Try it: a project that nothing of can be imported is named as the reason, whatever the tests say."""
    try:
        importlib.import_module(name)
    except BaseException:
        found.packages[name] = clip(traceback.format_exc())


class Found(object):
    """What one look found."""

    def __init__(self):
        self.files, self.packages, self.fixtures = {}, {}, set()
        self.cases = 0
        self.complaint = ""
        self.ids, self.readers = [], []
        self.skips = set()

    def fail(self, path, text):
        """A file that cannot be collected; the first reason counts."""
        self.files.setdefault(path, clip(text))

    def skip(self, reasons):
        """Why tests skip themselves here, as far as that is known before they run."""
        self.skips.update(str(reason)[:_REASON] for reason in reasons if reason)

    def complain(self, text):
        self.complaint = self.complaint or clip(text)

    def facts(self):
        return {
            "files": self.files,
            "packages": self.packages,
            "fixtures": sorted(self.fixtures),
            "cases": self.cases,
            "complaint": self.complaint,
            "ids": self.ids,
            "skips": sorted(self.skips)[:_SKIPS],
            "readers": self.readers,
        }


class Done(BaseException):
    """All is collected, and nothing shall be run."""


def clip(text):
    """The end of a text: that is where it says why."""
    return text if len(text) <= _CHARACTERS else "..." + text[3 - _CHARACTERS :]


def collect_pytest(config, files, found, watch):
    import pytest

    cache = os.path.join(os.environ.get("TMPDIR", "/tmp"), "pytest-cache-%d" % os.getpid())  # noqa: S108
    os.makedirs(cache, exist_ok=True)  # as in swt_pytest.py
    args = ["-q", "-o", "cache_dir=" + cache, "--continue-on-collection-errors"]
    args += [] if watch else ["--collect-only"]
    args += config["test_args"] + files
    sys.argv = [os.path.join(os.path.dirname(sys.executable), "pytest")] + args
    code = int(pytest.main(args, plugins=[plugin(pytest, found, watch)]))
    if code not in (0, 1, 2, 5) or (code == 2 and not found.files):
        found.complain("pytest ended with exit code %d" % code)


def plugin(pytest, found, watch):
    """The listener; its class is made here because old and new pytest disagree about unknown hooks."""
    if watch is None:
        return Plugin(found)

    class Watching(Plugin):
        @pytest.hookimpl(tryfirst=True)
        def pytest_cmdline_main(self, config):
            for name, value in (("numprocesses", None), ("dist", "no"), ("tx", [])):  # workers are not watched
                if hasattr(config.option, name):
                    setattr(config.option, name, value)

        def pytest_collectstart(self, collector):
            watch.holder = self.relative(collector.nodeid.split("::")[0])

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            watch.holder = None
            items = session.items
            names = [self.case_of(item) for item in items]
            cases = [(name, name.split("::")[0], swt_watch.texts_of_item(item)) for name, item in zip(names, items)]

            def run(numbers, end):
                for position, number in enumerate(numbers):
                    if time.time() > end:
                        return
                    after = numbers[position + 1] if position + 1 < len(numbers) else None
                    watch.holder = names[number]
                    following = None if after is None else items[after]
                    items[number].config.hook.pytest_runtest_protocol(item=items[number], nextitem=following)
                    watch.holder = None

            found.readers += swt_watch.readers(watch, cases, run)
            return True

    return Watching(found)


class Plugin(object):
    """Listens to pytest."""

    def __init__(self, found):
        self._found = found
        self._root = os.getcwd()

    def relative(self, path):
        """A path below pytest's root folder, as the checkout knows it."""
        return os.path.relpath(os.path.realpath(os.path.join(self._root, path)), os.path.realpath(os.getcwd()))

    def case_of(self, item):
        path, sep, rest = item.nodeid.replace("::()::", "::").partition("::")
        return self.relative(path) + sep + rest

    def pytest_addoption(self, parser):
        """A project without the cache's plugin would not know the option, and some are strict about that."""
        parser.addini("cache_dir", "cache directory path", default=".pytest_cache")

    def pytest_configure(self, config):
        self._root = str(getattr(config, "rootdir", None) or getattr(config, "rootpath", "") or self._root)

    def pytest_internalerror(self, excrepr):
        self._found.complain(str(excrepr))

    def pytest_collectreport(self, report):
        if report.failed:
            path = os.path.join(self._root, report.nodeid.split("::")[0])
            self._found.fail(os.path.relpath(path), str(report.longrepr))
        elif report.skipped:
            told = report.longrepr
            self._found.skip([told[-1].replace("Skipped: ", "", 1) if isinstance(told, tuple) else str(told)])

    def pytest_collection_finish(self, session):
        self._found.cases = len(session.items)
        self._found.ids = [self.case_of(item) for item in session.items]
        for item in session.items:
            self._found.fixtures.update(swt_items.missing_fixtures(item))
            self._found.skip(swt_items.marked(item) + swt_items.decorated(item))


def collect_unittest(config, files, found, watch):
    sys.path.insert(0, os.getcwd())
    suites = []
    for name, path in labels_of(files).items():
        if watch is not None:
            watch.holder = path
        suite = load(unittest.defaultTestLoader.loadTestsFromName, name, path, found)
        suites += [(path, case) for case in flat(suite)]
    found.ids = ["%s::%s" % (path, case_name(case)) for path, case in suites]
    if watch is not None:
        watch.holder = None
        watch_unittest(suites, found, watch)


def case_name(case):
    """`Class.method`."""
    return "%s.%s" % (type(case).__name__, getattr(case, "_testMethodName", ""))


def watch_unittest(suites, found, watch):
    names = {id(case): "%s::%s" % (path, case_name(case)) for path, case in suites}
    methods = [getattr(case, getattr(case, "_testMethodName", ""), None) for _, case in suites]
    texts = [("", [swt_watch._source(getattr(method, "__func__", method))]) for method in methods]
    cases = [(names[id(case)], path, text) for (path, case), text in zip(suites, texts)]

    def run(numbers, end):
        result = unittest.TestResult()
        started = result.startTest

        def startTest(case):
            watch.holder = names.get(id(case))
            if time.time() > end:
                result.stop()
            started(case)

        result.startTest = startTest
        unittest.TestSuite([suites[number][1] for number in numbers]).run(result)
        watch.holder = None

    found.readers += swt_watch.readers(watch, cases, run)


def load(loader, name, path, found, *rest):
    """The suite of one module; an empty one where it cannot be loaded."""
    try:
        suite = loader(name, *rest)
    except unittest.SkipTest as reason:
        found.skip([reason])
        return unittest.TestSuite()
    except (Exception, SystemExit):
        found.fail(path, traceback.format_exc())
        return unittest.TestSuite()
    for case in flat(suite):
        if type(case).__name__ == "_FailedTest":
            found.fail(path, str(getattr(case, "_exception", case)))
        else:
            found.cases += 1
            found.skip(swt_items.decorated(case))
    return suite


def flat(suite):
    """The cases of nested suites."""
    if not isinstance(suite, unittest.BaseTestSuite):
        return [suite]
    return [case for part in suite if part is not None for case in flat(part)]


def labels_of(files, base=""):
    """{dotted name: file}; `base` is the folder that the names start from."""
    labels = {}
    for path in files:
        name = path[len(base) :] if base and path.startswith(base) else path
        name = name[: -len(".py")] if name.endswith(".py") else name
        name = name[: -len("/__init__")] if name.endswith("/__init__") else name
        labels[name.replace("/", ".")] = path
    return labels


def collect_django(config, files, found, watch):
    """Django's own script, or a project's `manage.py`, as far as the point where it would make its databases, which
    comes after collecting."""
    args = list(config["test_args"])
    manages = bool(args) and os.path.basename(args[0]) == "manage.py"
    path = args.pop(0) if manages else "tests/runtests.py"
    labels = labels_of(files, base=path[: -len(os.path.basename(path))])
    script = os.path.join(os.getcwd(), path)
    original = unittest.TestLoader.loadTestsFromName

    def loadTestsFromName(self, name, module=None):
        runner = sys.modules.get("django.test.runner")
        if runner is not None:
            runner.DiscoverRunner.setup_databases = stop
        if name not in labels:
            return original(self, name, module)
        return load(lambda *args: original(self, *args), name, labels[name], found, module)

    unittest.TestLoader.loadTestsFromName = loadTestsFromName
    args += [] if manages or any(arg.startswith("--parallel") for arg in args) else ["--parallel", "1"]
    sys.argv = [script] + args + list(labels)
    sys.path.insert(0, os.path.dirname(script))
    if manages:
        os.chdir(os.path.dirname(script))
    runpy.run_path(script, run_name="__main__")


def stop(*args, **options):
    raise Done


def collect_sympy(config, files, found, watch):
    """What sympy's `bin/test` does with a file before it takes the functions out of it."""
    if "-C" in config["test_args"]:
        os.environ["SYMPY_USE_CACHE"] = "no"
    sys.path[0:0] = [os.getcwd()]
    for path in files:
        names = {"__file__": os.path.abspath(path)}
        try:
            with open(path, encoding="utf-8") as source:
                exec(compile(source.read(), names["__file__"], "exec"), names)  # noqa: S102 - as sympy does
        except BaseException as error:
            if type(error).__name__ != "Skipped":
                found.fail(path, traceback.format_exc())
        found.cases += sum(name.startswith("test_") for name in names)


_COLLECTORS = {
    "pytest": collect_pytest,
    "unittest": collect_unittest,
    "django": collect_django,
    "sympy": collect_sympy,
}

if __name__ == "__main__":
    main(sys.argv[1])
