"""Runs one set of test files: `python swt_main.py CONFIG.json`, with the checkout as the current folder."""

import os
import sys


def _load(folder):
    """Import our own modules without leaving bytecode or the folder on `sys.path` behind."""
    silent, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        import swt_start
    finally:
        sys.dont_write_bytecode = silent
        sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != folder]
    return swt_start


if __name__ == "__main__":
    _load(os.path.dirname(os.path.realpath(__file__))).start(sys.argv[1])
