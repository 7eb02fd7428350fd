"""Runs a command and writes the CPU seconds of its process tree to a file: `python spent.py FILE COMMAND…`.

For inside a sandbox whose own process does not wait for the job's, so that no time reaches whoever waits outside.
"""

import resource
import subprocess
import sys


def main(path, argv):
    code = subprocess.call(argv)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(path, "w") as target:
        target.write(repr(usage.ru_utime + usage.ru_stime))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
