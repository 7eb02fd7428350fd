"""Debugs one case: `python swt_debug_main.py CONFIG.json`, with the checkout as the current folder."""

import json
import os
import sys


def _load(folders):
    """Import our own modules without leaving bytecode or the folders on `sys.path` behind."""
    silent, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path[0:0] = folders
    try:
        import swt_warden
    finally:
        sys.dont_write_bytecode = silent
        sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") not in folders]
    return swt_warden


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        config = json.load(source)
    ours = [os.path.dirname(os.path.abspath(__file__)), config["runner"], config["selecting"]]
    _load([os.path.realpath(folder) for folder in ours]).serve(config)
