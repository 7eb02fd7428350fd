"""Plants probes in a syntax tree: a call before each statement, or around the first expression, of a watched line.

A probe is a call of a marker string; once the tree is compiled, the string constants are replaced by callables, so the
code under test gets no new name. Lines, columns, docstrings and names stay as they were: `E` becomes
`marker() or E`, where the call returns None.
"""

import ast
import sys
import types

_MARK = "\x00swt-line:"
_CONSTANTS = tuple(
    getattr(ast, name)
    for name in ("Constant", "Num", "NameConstant", "Str")
    if sys.version_info < (3, 8) or name == "Constant"
)
_TEXT = "s" if sys.version_info < (3, 8) else "value"  # reading the other one warns, and some make errors of warnings
_UNWRAPPABLE = tuple(
    getattr(ast, name) for name in ("Starred", "Slice", "ExtSlice", "Index", "FormattedValue") if name in vars(ast)
)
if sys.version_info >= (3, 12):
    # It starts where its body does, but evaluates its test first; before, the jump was on that line too.
    _UNWRAPPABLE += (ast.IfExp,)
_BLOCKS = ("body", "orelse", "finalbody")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def plant(tree, lines, scopes):
    """Plant probes for `lines` in `tree`, in place. `scopes` are the lines of each code object: `swt_lines.scopes`."""
    planter = _Planter(lines, scopes, _future_annotations(tree))
    planter.block(tree, "body")
    _fall_back(tree, lines - planter.planted)


def arm(code, hit_for):
    """`code` with every marker replaced by `hit_for(line)`, a callable that returns None."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            constant = arm(constant, hit_for)
        elif isinstance(constant, str) and constant.startswith(_MARK):
            constant = hit_for(int(constant[len(_MARK) :]))
        constants.append(constant)
    return _with_constants(code, tuple(constants))


def _with_constants(code, constants):
    if hasattr(code, "replace"):
        return code.replace(co_consts=constants)
    return types.CodeType(
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_nlocals,
        code.co_stacksize,
        code.co_flags,
        code.co_code,
        constants,
        code.co_names,
        code.co_varnames,
        code.co_filename,
        code.co_name,
        code.co_firstlineno,
        code.co_lnotab,
        code.co_freevars,
        code.co_cellvars,
    )


def _call(line, like):
    text = _MARK + str(line)
    marker = ast.Str(s=text) if sys.version_info < (3, 8) else ast.Constant(value=text, kind=None)
    call = ast.Call(func=ast.copy_location(marker, like), args=[], keywords=[])
    return ast.copy_location(call, like)


def _statement(line, like):
    return ast.copy_location(ast.Expr(value=_call(line, like)), like)


def _around(line, expression):
    both = ast.BoolOp(op=ast.Or(), values=[_call(line, expression), expression])
    return ast.copy_location(both, expression)


def _is_text(node):
    if not isinstance(node, ast.Expr):
        return False
    text = getattr(node.value, _TEXT, None)
    return isinstance(text, str) and isinstance(node.value, _CONSTANTS)


def _is_future(node):
    return isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level


def _future_annotations(tree):
    return any(alias.name == "annotations" for node in tree.body if _is_future(node) for alias in node.names)


def _head(owner, statements):
    """How many statements must stay first: a docstring, and a module's `__future__` imports."""
    count = 0
    if isinstance(owner, (ast.Module,) + _DEFINITIONS) and statements and _is_text(statements[0]):
        count = 1
    while isinstance(owner, ast.Module) and count < len(statements) and _is_future(statements[count]):
        count += 1
    return count


def _first_lines(statement):
    """Where a statement starts; before 3.8 a string says where it ends."""
    return {statement.lineno, statement.value.lineno} if _is_text(statement) else {statement.lineno}


class _Planter(object):
    """Walks blocks, then the expressions of each statement. `done` is what already has a probe on the way here."""

    def __init__(self, lines, scopes, skip_annotations):
        self._lines = lines
        self._scopes = scopes
        self._skip_annotations = skip_annotations
        self.planted = set()

    def _wants(self, line, done):
        if line not in self._lines or line in done:
            return False
        done.add(line)
        self.planted.add(line)
        return True

    def block(self, owner, field):
        statements = getattr(owner, field)
        head = _head(owner, statements) if field == "body" else 0
        late, rest = [], []
        for index, statement in enumerate(statements):
            done = set()
            probes = self._before(statement, done)
            self._inside(statement, done)
            if index < head:
                late += probes
            else:
                rest += probes + [statement]
        if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            late = []
        setattr(owner, field, statements[:head] + late + rest)

    def _before(self, statement, done):
        if isinstance(statement, ast.While) and not isinstance(statement.test, _CONSTANTS):
            if self._wants(statement.lineno, done):
                self._expressions(statement.test, done)
                statement.test = _around(statement.lineno, statement.test)
            return []
        return [_statement(line, statement) for line in sorted(_first_lines(statement)) if self._wants(line, done)]

    def _inside(self, statement, done):
        for name, value in ast.iter_fields(statement):
            if name in _BLOCKS and isinstance(value, list):
                self.block(statement, name)
                if name == "body":
                    self._turns(statement)
            elif name == "handlers":
                for handler in value:
                    self._handler(handler)
            elif name == "cases":
                statement.cases = [planted for case in value for planted in self._case(case)]
            elif name not in ("type_params", "annotation", "returns") or self._evaluates(statement, name):
                self._field(statement, name, value, done)

    def _turns(self, loop):
        """The head of a `for` runs again for each turn."""
        if isinstance(loop, (ast.For, ast.AsyncFor)) and loop.lineno in self._lines:
            loop.body.insert(0, _statement(loop.lineno, loop))

    def _evaluates(self, node, field):
        return field != "type_params" and not self._skip_annotations

    def _handler(self, handler):
        done = set()
        if self._wants(handler.lineno, done):
            if handler.type is not None:
                self._expressions(handler.type, done)
                handler.type = _around(handler.lineno, handler.type)
                self.block(handler, "body")
                return
            self.block(handler, "body")
            handler.body.insert(0, _statement(handler.lineno, handler.body[0]))
            return
        if handler.type is not None:
            self._field(handler, "type", handler.type, done)
        self.block(handler, "body")

    def _case(self, case):
        """A case that never matches stands before a watched pattern and is the probe.

        Names in a pattern are bound when all of it has matched: their lines run with the guard or the body.
        """
        done, before = set(), []
        tested, bound = _pattern_lines(case.pattern)
        for line in sorted(line for line in tested if self._wants(line, done)):
            wildcard = ast.copy_location(ast.MatchAs(pattern=None, name=None), case.pattern)
            stop = ast.copy_location(ast.Pass(), case.pattern)
            before.append(ast.match_case(pattern=wildcard, guard=_call(line, case.pattern), body=[stop]))
        late = sorted(line for line in bound if self._wants(line, done))
        if case.guard is not None:
            self._field(case, "guard", case.guard, done)
        self.block(case, "body")
        for line in late:
            if case.guard is not None:
                case.guard = _around(line, case.guard)
            else:
                case.body.insert(0, _statement(line, case.body[0]))
        return before + [case]

    def _field(self, owner, name, value, done):
        """Plant in one field of a node: a node, or a list of nodes."""
        if isinstance(value, list):
            value[:] = [self._node(item, done) for item in value]
        elif isinstance(value, ast.AST):
            setattr(owner, name, self._node(value, done))

    def _node(self, node, done):
        """`node`, or the expression that stands for it."""
        if not isinstance(node, ast.AST):
            return node
        line = getattr(node, "lineno", None)
        wrap = _can_wrap(node) and self._wants(line, done)
        self._expressions(node, done)
        return _around(line, node) if wrap else node

    def _expressions(self, node, done):
        """Plant below `node`. What may not be evaluated, or later, gets probes of its own."""
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                self._expressions(part, done)
        elif isinstance(node, ast.Lambda):
            self._expressions(node.args, done)
            self._scope(node, "<lambda>", lambda: self._field(node, "body", node.body, set()), (node, "body"))
        elif isinstance(node, ast.GeneratorExp):
            self._outermost(node, done)
            self._scope(node, "<genexpr>", lambda: self._inner(node, set()), _first_evaluated(node))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
            self._outermost(node, done)
            self._inner(node, set())
        elif isinstance(node, ast.IfExp):
            self._field(node, "test", node.test, done)
            self._field(node, "body", node.body, set(done))
            self._field(node, "orelse", node.orelse, set(done))
        elif isinstance(node, ast.BoolOp):
            self._one_by_one(node.values, done)
        elif isinstance(node, ast.Compare):
            self._field(node, "left", node.left, done)
            self._one_by_one(node.comparators, done)
        elif isinstance(node, ast.FormattedValue):
            self._field(node, "value", node.value, done)
            if node.format_spec is not None:
                self._expressions(node.format_spec, done)
        else:
            self._fields(node, done)

    def _one_by_one(self, values, done):
        """The first is always evaluated, the others maybe."""
        later = set()
        for index, value in enumerate(values):
            if index == 1:
                later = set(done)
            values[index] = self._node(value, done if index == 0 else later)

    def _scope(self, node, name, plant_inside, first):
        """Code of its own, run later: its lines where no expression starts get a probe ahead of all of it."""
        known, self.planted = self.planted, set()
        plant_inside()
        owner, field = first
        missing = self._lines & self._scopes.get((name, node.lineno), set()) - self.planted
        for line in sorted(missing):
            self.planted.add(line)
            setattr(owner, field, _around(line, getattr(owner, field)))
        self.planted |= known

    def _outermost(self, node, done):
        """The first iterable of a comprehension is evaluated where it stands."""
        outer = node.generators[0]
        self._field(outer, "iter", outer.iter, done)

    def _inner(self, node, done):
        """What runs for each item, on the line of the comprehension as well."""
        for index, part in enumerate(node.generators):
            if index:
                self._field(part, "iter", part.iter, done)
            self._field(part, "target", part.target, done)
            self._field(part, "ifs", part.ifs, done)
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                self._field(node, name, getattr(node, name), set(done))

    def _fields(self, node, done):
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns") or not self._skip_annotations:
                self._field(node, name, value, done)


def _pattern_lines(pattern):
    """({lines that are tested}, {lines that only bind names}) of a pattern; its first line is always tested."""
    tested, bound = {pattern.lineno}, set()
    for node in ast.walk(pattern):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)):
            bound.add(node.lineno)
        elif hasattr(node, "lineno"):
            tested.add(node.lineno)
    return tested, bound - tested


def _first_evaluated(node):
    """(owner, field) of what a generator expression evaluates first for each item of its first iterable."""
    if node.generators[0].ifs:
        return _First(node.generators[0].ifs), "item"
    if len(node.generators) > 1:
        return node.generators[1], "iter"
    return node, "elt"


class _First(object):
    """The first item of a list, as an attribute."""

    def __init__(self, items):
        self._items = items

    @property
    def item(self):
        return self._items[0]

    @item.setter
    def item(self, value):
        self._items[0] = value


def _can_wrap(node):
    if not isinstance(node, ast.expr) or isinstance(node, _UNWRAPPABLE) or not hasattr(node, "lineno"):
        return False
    if isinstance(node, ast.Tuple) and any(isinstance(item, (ast.Slice, ast.Starred)) for item in node.elts):
        return False
    return isinstance(getattr(node, "ctx", None), (ast.Load, type(None)))


def _fall_back(tree, lines):
    """Lines with code where no statement and no expression starts: probe before the statement around them."""
    for line in sorted(lines):
        found = _innermost(tree, line)
        if found is not None:
            statements, statement = found
            statements.insert(statements.index(statement), _statement(line, statement))


def _innermost(tree, line):
    best = None
    for owner in ast.walk(tree):
        for name in _BLOCKS:
            statements = getattr(owner, name, None)
            if not isinstance(statements, list):
                continue
            head = _head(owner, statements) if name == "body" else 0
            for statement in statements[head:]:
                if statement.lineno <= line <= _last_line(statement):
                    best = (statements, statement)
    return best


def _last_line(statement):
    known = getattr(statement, "end_lineno", None)
    return known or max(getattr(node, "lineno", 0) for node in ast.walk(statement))
