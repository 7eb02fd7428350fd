"""Rules for tests that start programs or use the network."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tasks.integrity.lint.module import Finding, LintedModule
from tasks.integrity.python_source import imported_names, texts_in

_STARTS = re.compile(
    r"subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|os\.(?:system|popen|exec\w+|spawn\w+)"
    r"|posix_?spawn\w*|pty\.spawn|asyncio\.create_subprocess_\w+|commands\.getoutput|sh\.\w+|pexpect\.\w+"
)
_GIT = re.compile(r"(?:^|[\s/;&|])(?:git|hg|gitdb|dulwich)(?:$|\s)")
_PACKAGES = re.compile(
    r"(?:^|[\s/;&|])(?:pip3?|uv|conda|mamba|easy_install|poetry|pipx|apt|apt-get|npm|wget|curl)(?:$|\s)"
)
_GIT_LIBRARIES = {"git", "pygit2", "dulwich"}
_PACKAGE_LIBRARIES = {"pip", "ensurepip", "setuptools.command.easy_install"}
_NETWORK = {"socket", "ftplib", "smtplib", "telnetlib", "aiohttp", "httpx", "paramiko", "websockets"}
_NETWORK_CALLS = re.compile(
    r"urllib\.request\.(?:urlopen|urlretrieve|Request)|urllib2\.urlopen|http\.client\.HTTPS?Connection"
    r"|requests\.(?:get|post|put|head|request)|urllib3\.PoolManager"
)


def git_command(module: LintedModule) -> Iterator[Finding]:
    for call in module.calls_of(lambda name: _STARTS.fullmatch(name) is not None):
        if any(_GIT.search(text) for text in texts_in(call)):
            yield from module.find("git-command", call)
    yield from _imports(module, _GIT_LIBRARIES, "git-command")


def package_command(module: LintedModule) -> Iterator[Finding]:
    for call in module.calls_of(lambda name: _STARTS.fullmatch(name) is not None):
        if any(_PACKAGES.search(text) for text in texts_in(call)):
            yield from module.find("package-command", call)
    yield from _imports(module, _PACKAGE_LIBRARIES, "package-command")


def process(module: LintedModule) -> Iterator[Finding]:
    """Starts a program other than git and package commands."""
    for call in module.calls_of(lambda name: _STARTS.fullmatch(name) is not None):
        if not any(_GIT.search(text) or _PACKAGES.search(text) for text in texts_in(call)):
            yield from module.find("process", call)


def network(module: LintedModule) -> Iterator[Finding]:
    for call in module.calls_of(lambda name: _NETWORK_CALLS.fullmatch(name) is not None):
        yield from module.find("network", call)
    yield from _imports(module, _NETWORK, "network")


def _imports(module: LintedModule, libraries: set[str], rule: str) -> Iterator[Finding]:
    for node in module.touched_nodes:
        if any(name in libraries or name.split(".")[0] in libraries for name in imported_names(node)):
            yield from module.find(rule, node)
