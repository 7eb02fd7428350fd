"""The interpreter that uv starts: sends the call to the build gate and prints what comes back.

Runs on the host under the product's own Python (`-I -S`), holds no third-party code, standard library only.
"""

import json
import os
import socket
import sys

ADDRESS = "SWT_BUILD_GATE"
"""Environment variable with the path of the gate's socket."""
CHUNK = 1 << 16


def main() -> int:
    cwd = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    request = {"argv": sys.argv[1:], "cwd": cwd, "env": dict(os.environ)}
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(os.environ[ADDRESS])
            connection.sendall(json.dumps(request).encode("ascii"))
            connection.shutdown(socket.SHUT_WR)
            answer = json.loads(b"".join(iter(lambda: connection.recv(CHUNK), b"")))
    except (KeyError, OSError, ValueError) as error:
        print(f"the build gate does not answer: {error!r}", file=sys.stderr)
        return 1
    sys.stdout.write(answer["stdout"])
    sys.stderr.write(answer["stderr"])
    return int(answer["exit_code"])


if __name__ == "__main__":
    sys.exit(main())
