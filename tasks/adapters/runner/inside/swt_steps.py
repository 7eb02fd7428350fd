"""Classes whose cases are steps: one leaves on the class what a later one finds there.

Only what stands in the class's own source says so. A step that is taken before the one that it stands on fails for
itself, so such a class keeps its order when cases are reversed or shuffled.
"""

import ast
import inspect
import textwrap

_FRESH = ("setUpClass", "setup_class", "tearDownClass", "teardown_class")
"""Run once for a class, whatever the order of its cases."""
_CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.Call)


def are_steps(cls):
    """Whether a method of the class writes to the class, or into a container that the class body made."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
    shared = _containers(body)
    methods = [node for node in body if isinstance(node, ast.FunctionDef) and node.name not in _FRESH]
    return any(_writes(node, cls.__name__, shared) for method in methods for node in ast.walk(method))


def _containers(body):
    """Names that the class body binds to something that can be changed in place."""
    assigned = [node for node in body if isinstance(node, ast.Assign) and isinstance(node.value, _CONTAINERS)]
    return {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}


def _writes(node, name, shared):
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return _is_class(node.value, name)
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return _is_shared(node.value, name, shared)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
        return bool(node.args) and _is_class(node.args[0], name)
    is_statement = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if is_statement and isinstance(node.value.func, ast.Attribute):
        return _is_shared(node.value.func.value, name, shared)
    return False


def _is_class(node, name):
    """`cls`, the class's own name, `self.__class__` or `type(self)`."""
    if isinstance(node, ast.Name):
        return node.id in ("cls", name)
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__"
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _is_shared(node, name, shared):
    """A container of the class, through an instance or through the class."""
    if not isinstance(node, ast.Attribute) or node.attr not in shared:
        return False
    return _is_class(node.value, name) or (isinstance(node.value, ast.Name) and node.value.id == "self")
