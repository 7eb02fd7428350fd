"""Runs some cases of test files, and no others: `python swt_some_main.py CONFIG.json`, with the checkout as the current
folder. The configuration is that of the runner, with `cases` and the runner's folder in it."""

import json
import os
import sys


def _load(folders):
    """Import our own modules without leaving bytecode or the folders on `sys.path` behind."""
    silent, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path[0:0] = folders
    try:
        import swt_recorder
        import swt_start

        import swt_only
    finally:
        sys.dont_write_bytecode = silent
        sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") not in folders]
    return swt_start, swt_only, swt_recorder


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        config = json.load(source)
    start, only, recorder = _load([os.path.dirname(os.path.realpath(__file__)), os.path.realpath(config["runner"])])
    names = only.NAMES[config["kind"]](recorder.Recorder(None, None, os.getcwd()).relative)
    only.stand_in(only.Only(config["cases"], names))
    start.start(sys.argv[1])
