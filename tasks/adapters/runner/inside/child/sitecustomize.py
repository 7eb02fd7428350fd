"""Python runs this file when it starts: a process that a test started counts the watched lines that it runs.

The runner puts this folder on PYTHONPATH for the processes that tests start. The folder leaves `sys.path` at once, and
a `sitecustomize` of the environment is imported as if this one were not there.
"""

import os
import sys


def _attach(inside):
    sys.path.insert(0, inside)
    try:
        import swt_children
    finally:
        sys.path.remove(inside)
    swt_children.attach()


def _own_sitecustomize():
    """Import the next `sitecustomize` on the path in the place of this one."""
    this = sys.modules.pop(__name__)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        sys.modules[__name__] = this


_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
try:
    if sys.version_info >= (3, 6):
        _attach(os.path.dirname(_HERE))
finally:
    _own_sitecustomize()
