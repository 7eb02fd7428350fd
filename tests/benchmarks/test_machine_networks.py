"""A machine of the drills in a network of its own: it reaches what this machine serves, by another address."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from benchmarks.machine_networks import HERE, Network, networks
from tasks.domain.errors import NotFound

ASK = "import sys, urllib.request; sys.exit(urllib.request.urlopen(sys.argv[1], timeout=5).status != 200)"


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.client_address[0] == HERE else 403)
        self.end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing: it would be among what the tests print."""


def test_localhost_is_its_own_and_this_machine_is_reached_by_another_address() -> None:
    with HTTPServer((HERE, 0), Answers) as server, ThreadPoolExecutor() as pool:
        pool.submit(server.serve_forever)
        url = f"http://{HERE}:{server.server_port}"
        try:
            with networks(2) as made:
                assert [[_asks(one, url), _asks(one, one.told({"URL": url})["URL"])] for one in made] == [[1, 0]] * 2
        except (NotFound, PermissionError, subprocess.CalledProcessError) as missing:
            pytest.skip(f"no namespaces of networks here: {missing}")
        finally:
            server.shutdown()
    assert not [one.name for one in made if Path(f"/run/netns/{one.name}").exists()]


def _asks(network: Network, url: str) -> int:
    """Exit code of who asks from inside."""
    command = network.command([sys.executable, "-c", ASK, url])
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode
