"""Runs the public harness's applier on replies. Runs in an environment of its own; standard library, and the harness.

python public_applier.py HARNESS_FOLDER CASES.json RESULTS.json
"""

import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path


def load(folder):
    path = Path(folder) / "src" / "auxillary_src" / "extract_patches.py"
    spec = importlib.util.spec_from_file_location("extract_patches", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def apply(module, case):
    """The file afterwards (null where the applier says no) and CPU seconds: reading the reply and applying it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if case["base"] is not None:
            path.write_text(case["base"], encoding="utf-8", newline="")
        os.chdir(folder)
        begun = time.process_time()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                done = module.apply_custom_patches(module.extract_custom_patches(case["reply"]), testbed=folder)
        except Exception as error:
            return {"after": None, "said": f"{type(error).__name__}: {error}", "cpu_s": time.process_time() - begun}
        spent = time.process_time() - begun
        after = path.read_text(encoding="utf-8") if done and path.exists() else None
        return {"after": after, "said": "" if done else "refused", "cpu_s": spent}


def main():
    module = load(sys.argv[1])
    cases = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    home = Path.cwd()
    results = [apply(module, case) for case in cases]
    os.chdir(home)
    Path(sys.argv[3]).write_text(json.dumps(results), encoding="utf-8")


main()
