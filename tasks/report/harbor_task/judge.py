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
            return cases(os.path.join(outbox, _REPORT), seal, self.config["gravity"])
        finally:
            subprocess.run(("rm", "-rf", outbox), check=False)  # tests may leave more levels than Python can recurse


def cases(report, seal, gravity):
    """What the runner's report says of each case; lines without its seal are passed over."""
    found, last = {}, b""
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
            if told["k"] == "case":
                said = [told["outcome"], found.get(told["case"], told["outcome"])]
                found[told["case"]] = min(said, key=gravity.index)
    return found


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
