"""Judges tests that reproduce an issue, in a container: `python judge.py CONFIG.json PATCH REWARD.json`.

The checkout is a git repository with the base commit. What the patch does to test files is run before and after the
fix, beside what the repository's own tests in these files did, by the same runner as everywhere. What outcomes mean is
in the configuration, which was written from `sql/`: the grader `swt_bench`, which needs no look into the tests.
"""

import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import tempfile

_SEAL = "seal"
_REPORT = "report.jsonl"
_MISSING = "missing"
_GIT = ("git", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null")


class Judge(object):
    """One candidate of one instance."""

    def __init__(self, config, patch):
        self.config, self.patch = config, patch
        self.root, self.fix = config["testbed"], config["fix"]
        self.base = self._git("rev-parse", "HEAD").strip()

    def rewards(self):
        """Numbers by name; all 0 for a patch that does not apply or has no test in it."""
        files = self._candidate() if os.path.exists(self.patch) and os.path.getsize(self.patch) else None
        if not files:
            return {"reward": 0, "applies": int(files is not None), "fail_to_pass": 0, "fail_to_any": 0}
        suite = self._git("diff", "--binary", "--cached", self.base)
        own = [path for path in files if self._has(path)]
        cells = {}
        for kind in ("none", "candidate"):
            for state in ("before", "after"):
                self._reset()
                if state == "after":
                    self._git("apply", "--index", "--whitespace=nowarn", "--", self.fix)
                if kind == "candidate":
                    self._git("apply", "--index", "--whitespace=nowarn", "-", stdin=suite)
                cells[kind, state] = self._outcomes(files if kind == "candidate" else own)
        self._reset()
        return verdict(self.config, cells)

    def _candidate(self):
        """Apply the patch, keep what it does to test files, say which of these run; null where it does not apply."""
        self._reset()
        try:
            self._git("apply", "--index", "--whitespace=nowarn", "--", self.patch)
        except subprocess.CalledProcessError:
            return None
        changed = self._git("diff", "--cached", "--name-only", "--no-renames", "-z", self.base).split("\0")
        for path in filter(None, changed):
            if not self._is_test(path):
                self._git("reset", "-q", "--", path)
        left = self._git("diff", "--cached", "--name-only", "--no-renames", "--diff-filter=AM", "-z", self.base)
        return [path for path in left.split("\0") if path and self._runs(path)]

    def _is_test(self, path):
        folders, name = path.split("/")[:-1], path.split("/")[-1]
        if re.fullmatch(self.config["never"], name):
            return False
        return bool(re.fullmatch(self.config["module"], name)) or bool(set(self.config["folders"]) & set(folders))

    def _runs(self, path):
        if re.fullmatch(self.config["module"], path.split("/")[-1]):
            return True
        return path.endswith(".py") and bool(re.search(self.config["defines"], self._git("show", ":" + path), re.M))

    def _has(self, path):
        argv = (*_GIT, "cat-file", "-e", self.base + ":" + path)
        return subprocess.call(argv, cwd=self.root, stderr=subprocess.DEVNULL) == 0

    def _reset(self):
        self._git("reset", "-q", "--hard", self.base)
        self._git("clean", "-fdq")

    def _git(self, *argv, **given):
        text = given.get("stdin")
        done = subprocess.run(
            (*_GIT, *argv), cwd=self.root, check=True, stdout=subprocess.PIPE,
            input=None if text is None else text.encode("utf-8", "surrogateescape"),
        )  # fmt: skip
        return done.stdout.decode("utf-8", "surrogateescape")

    def _outcomes(self, files):
        """Case id → outcome, of one run."""
        if not files:
            return {}
        outbox = tempfile.mkdtemp(prefix="swt-")
        seal = os.urandom(32)
        try:
            with open(os.path.join(outbox, _SEAL), "wb") as sink:
                sink.write(seal)
            job = dict(self.config["job"], files=files, report=os.path.join(outbox, _REPORT))
            path = os.path.join(outbox, "config.json")
            with open(path, "w") as sink:
                json.dump(job, sink)
            argv = (sys.executable, os.path.join(self.config["runner"], "swt_main.py"), path)
            env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **self.config["env"])
            try:
                subprocess.run(argv, cwd=self.root, env=env, check=False, timeout=self.config["timeout_s"])
            except subprocess.TimeoutExpired:
                print("the run was ended after", self.config["timeout_s"], "seconds", file=sys.stderr)
            return cases(os.path.join(outbox, _REPORT), seal, self.config["gravity"], self.config["job"]["kind"])
        finally:
            subprocess.run(("rm", "-rf", outbox), check=False)  # tests may leave more levels than Python can recurse


def cases(report, seal, gravity, kind):
    """What the public harness would read of each case in this runner's log, from the runner's report.

    Lines of the report without its seal are passed over.
    """
    found, last, ended = {}, b"", None
    if not os.path.exists(report):
        return found
    with open(report, "rb") as source:
        for line in source:
            code, _, record = line.rstrip(b"\n").partition(b" ")
            known = hashlib.blake2b(last + record, key=seal, digest_size=16).hexdigest().encode("ascii")
            if not hmac.compare_digest(code, known):
                continue
            last = code
            told = json.loads(record.decode("ascii"))
            if told["k"] == "end":
                ended = told["exit"]
            if told["k"] == "case":
                both = (told, found.get(told["case"], told))
                found[told["case"]] = min(both, key=lambda row: gravity.index(row["outcome"]))
    return _LINES[kind]([row for row in found.values() if row["label"]], ended)


def _pytest_lines(rows, ended):
    """`sql/views/harness_case.sql` says why: the log has all lines at its end, and skips have no names."""
    modules = [row for row in rows if row["phase"] == "collect"]
    if ended not in _SUMMARY_CODES:
        return {}
    if any(row["outcome"] == "error" for row in modules):
        rows = modules
    places = [(row["path"], row["qualname"], row["message"]) for row in rows if row["outcome"] == "skipped"]
    named = {row["case"]: row["outcome"] for row in rows if row["outcome"] != "skipped"}
    named.update(("[%d]" % places.count(place), "skipped") for place in places)
    return named


def _unittest_lines(rows, ended):
    def is_read(row):
        if row["phase"] == "collect":
            return row["path"].split("/")[-1].startswith("test")
        is_shared = row["phase"] in ("setup", "teardown") and row["duration"] is None
        return not is_shared and (ended is not None or row["outcome"] != "failed")

    return {row["case"]: row["outcome"] for row in rows if is_read(row)}


def _sympy_lines(rows, ended):
    return {row["case"]: row["outcome"] for row in rows if row["phase"] != "collect" and row["outcome"] != "skipped"}


_SUMMARY_CODES = (0, 1, 2, 4, 5)
_LINES = {"pytest": _pytest_lines, "unittest": _unittest_lines, "django": _unittest_lines, "sympy": _sympy_lines}


def verdict(config, cells):
    """The grader's rules over four runs: (suite, state) → case id → outcome."""
    moved = []
    for case in sorted(set().union(*cells.values())):
        pairs = [
            tuple(cells[kind, state].get(case, _MISSING) for state in ("before", "after"))
            for kind in ("none", "candidate")
        ]
        moved.append([config["transitions"]["/".join(pair)] for pair in pairs])
    new = {own for base, own in moved if own != base}
    lost = any(base == "fail_to_pass" != own for base, own in moved)
    solved = "fail_to_pass" in new and not lost and not new & {"pass_to_fail", "fail_to_fail"}
    return {
        "reward": int(solved),
        "applies": 1,
        "fail_to_pass": int("fail_to_pass" in new),
        "fail_to_any": int(bool(new & {"fail_to_pass", "fail_to_fail"})),
    }


def main(config, patch, reward):
    """Write the rewards where Harbor reads them."""
    with open(config, encoding="utf-8") as source:
        judged = Judge(json.load(source), patch).rewards()
    with open(reward, "w") as sink:
        json.dump(judged, sink)


if __name__ == "__main__":
    main(*sys.argv[1:])
