"""Rules for tests that manipulate the test runner."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tasks.integrity.lint.module import Finding, LintedModule
from tasks.integrity.python_source import one_line, texts_in

_EXITS = re.compile(r"os\._exit|os\.abort|faulthandler\._sig\w+")
_SIGNALS = re.compile(r"os\.kill(?:pg)?|signal\.(?:raise_signal|pthread_kill|alarm|setitimer)")
_LEAVES = re.compile(r"sys\.exit|exit|quit|pytest\.exit")
_TRACES = re.compile(
    r"sys\.(?:_getframe|settrace|setprofile|_current_frames)|threading\.(?:settrace|setprofile)|gc\.get_\w+"
)
_STACK = re.compile(r"inspect\.(?:stack|currentframe|trace|getouterframes)")
_PATCHED = re.compile(r"(?:unittest|pytest|_pytest|pluggy|builtins|nose|django\.test)(?:\.[\w.]*)?")
_SITE = re.compile(r"(?:site|user)customize|.*\.pth")
_MARKS = re.compile(r"pytest\.(?:mark\.)?(?:skip|xfail|exit)|unittest\.skip|unittest\.SkipTest")
_OWN = re.compile(r"swt_\w+")
_HOOK = re.compile(r"pytest_(?!plugins$|generate_tests$)\w+")


def process_exit(module: LintedModule) -> Iterator[Finding]:
    """Ends the test process."""
    for call in module.calls_of(lambda name: _EXITS.fullmatch(name) is not None):
        yield from module.find("process-exit", call)


def signal(module: LintedModule) -> Iterator[Finding]:
    """Sends signals, which can also end the process."""
    for call in module.calls_of(lambda name: _SIGNALS.fullmatch(name) is not None):
        yield from module.find("signal", call)


def exit_at_import(module: LintedModule) -> Iterator[Finding]:
    for call in module.calls_of(lambda name: _LEAVES.fullmatch(name) is not None):
        if module.at_import(call) and not _under_main(module, call):
            yield from module.find("exit-at-import", call)
    for node in module.touched_nodes:
        if isinstance(node, ast.Raise) and module.at_import(node) and "SystemExit" in one_line(node):
            yield from module.find("exit-at-import", node)


def runner_patching(module: LintedModule) -> Iterator[Finding]:
    """Permanently sets an attribute of unittest, pytest or builtins."""
    for node in module.touched_nodes:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        if any(isinstance(t, ast.Attribute) and _PATCHED.fullmatch(module.resolved(t.value)) for t in targets):
            yield from module.find("runner-patching", node)
    for call in module.calls_of(lambda name: name in ("setattr", "delattr")):
        if call.args and _PATCHED.fullmatch(module.resolved(call.args[0])):
            yield from module.find("runner-patching", call)


def loaded_modules(module: LintedModule) -> Iterator[Finding]:
    """Replaces a loaded module: `sys.modules["x"] = …`."""
    for node in module.touched_nodes:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
        if any(isinstance(t, ast.Subscript) and module.resolved(t.value) == "sys.modules" for t in targets):
            yield from module.find("loaded-modules", node)


def runner_internals(module: LintedModule) -> Iterator[Finding]:
    """Uses this project's runner or its report."""
    for node in module.touched_nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
        if any(_OWN.fullmatch(name) for name in names):
            yield from module.find("runner-internals", node)


def site_files(module: LintedModule) -> Iterator[Finding]:
    """Writes or names files that Python executes at every start."""
    for call in module.calls:
        named = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if any(_SITE.fullmatch(name.rpartition("/")[2].removesuffix(".py")) for name in named):
            yield from module.find("site-files", call)


def pytest_hook(module: LintedModule) -> Iterator[Finding]:
    """Defines a hook or a plugin in a test file. It has an effect only if it is loaded as a plugin."""
    for node in module.tree.body:
        hook = isinstance(node, ast.FunctionDef) and _HOOK.fullmatch(node.name)
        names = [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []
        if hook or "pytest_plugins" in names:
            yield from module.find("pytest-hook", node)


def tracing(module: LintedModule) -> Iterator[Finding]:
    """Uses frames, traces or the garbage collector, which give a test access to its runner."""
    for call in module.calls_of(lambda name: _TRACES.fullmatch(name) is not None):
        yield from module.find("tracing", call)
    for call in module.calls_of(lambda name: _STACK.fullmatch(name) is not None):
        yield from module.find("stack", call)


def skip_at_import(module: LintedModule) -> Iterator[Finding]:
    for call in module.calls_of(lambda name: _MARKS.fullmatch(name) is not None):
        if module.at_import(call) and not _decorates(module, call):
            yield from module.find("skip-at-import", call)
    for node in module.tree.body:
        names = [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []
        if set(names) & {"collect_ignore", "collect_ignore_glob", "__test__"}:
            yield from module.find("skip-at-import", node)


def at_exit(module: LintedModule) -> Iterator[Finding]:
    for call in module.calls_of(lambda name: name in ("atexit.register", "os.fork", "os.forkpty", "os.setsid")):
        yield from module.find("at-exit", call)


def hidden_code(module: LintedModule) -> Iterator[Finding]:
    """Executes code that cannot be read here: decoded, unmarshalled or called through ctypes."""
    for call in module.calls_of(lambda name: name in ("exec", "eval", "compile", "__import__")):
        inside = {module.resolved(part.func) for part in ast.walk(call) if isinstance(part, ast.Call)}
        if any(re.match(r"base64\.|codecs\.decode|bytes\.fromhex|zlib\.|marshal\.", name) for name in inside):
            yield from module.find("hidden-code", call)
    for call in module.calls_of(lambda name: name.startswith(("marshal.load", "ctypes."))):
        yield from module.find("hidden-code", call)


def _under_main(module: LintedModule, node: ast.AST) -> bool:
    return any(isinstance(part, ast.If) and "__main__" in texts_in(part.test) for part in module.ancestors(node))


def _decorates(module: LintedModule, call: ast.AST) -> bool:
    """Whether a call is part of a decorator."""
    child = call
    for parent in module.ancestors(call):
        if isinstance(parent, ast.stmt):
            return child in getattr(parent, "decorator_list", ())
        child = parent
    return False
