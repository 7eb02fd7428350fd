"""The environment variables that uv, npm and git are started with: an allow-list, so that no secret is passed on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PREFIXES = ("UV_", "LC_", "npm_config_", "NPM_CONFIG_")
NAMES = frozenset(
    (
        *("PATH", "LANG", "TMPDIR", "TZ"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
        *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "NETRC"),
    )
)
"""What finds programs, package registries and certificates."""


def tool_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The allowed variables of `environ`. HOME is not among them: each command gets an empty one.

    uv's own folders (cache, settings, interpreters) and npm's stay those of the user, named one by one.
    """
    allowed = {name: value for name, value in environ.items() if name in NAMES or name.startswith(PREFIXES)}
    home = Path(environ.get("HOME", "/nonexistent"))
    cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    places = {
        "UV_CACHE_DIR": cache / "uv",
        "UV_PYTHON_INSTALL_DIR": data / "uv" / "python",
        "XDG_CONFIG_HOME": Path(environ.get("XDG_CONFIG_HOME") or home / ".config"),
        "npm_config_cache": home / ".npm",
        "npm_config_userconfig": home / ".npmrc",
    }
    return {name: str(path) for name, path in places.items()} | allowed
