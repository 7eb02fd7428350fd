"""Apply one edit to one file by lines: replace, insert or delete definitions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from tasks.methods.edits.find import FoundPlace, Wanted, distance, find
from tasks.methods.edits.model import Action, Anchor, Edit, EditReason, EditRefused, Hint, Match
from tasks.methods.edits.outline import Outline, OutlineEntry, outline
from tasks.methods.edits.snippet import CodeKind, Snippet, Statement, parse

TOP_GAP, CLASS_GAP = 2, 1
"""Blank lines around a definition, at module level and in a class."""

Outcome = Match | EditRefused


def perform(file: Outline, edit: Edit, snippet: Snippet | None) -> Outcome:
    """Apply one edit. A refused edit leaves the file unchanged."""
    if edit.action is Action.DELETE:
        return _delete(file, edit, snippet)
    assert snippet is not None
    return _rewrite(file, edit, snippet) if edit.action is Action.REWRITE else _insert(file, edit, snippet)


def _rewrite(file: Outline, edit: Edit, snippet: Snippet) -> Outcome:
    """Replace each definition that the code rewrites. Imports go to the imports of the file."""
    if not snippet.definitions:
        return EditRefused(reason=EditReason.NO_DEFINITION, detail=f"{edit.path}: the code holds no definition")
    found = []
    for definition in snippet.definitions:
        one = find(file, _wanted(file, edit, definition, snippet))
        if isinstance(one, EditRefused):
            return replace(one, detail=f"{edit.path}: {one.detail}")
        found.append(one)
    for definition, one in zip(snippet.definitions, found, strict=True):
        _swap(file, one.place, definition)
    _hoist(file, [one for one in snippet.statements if one not in snippet.definitions])
    return _worst(found)


def _wanted(file: Outline, edit: Edit, definition: Statement, snippet: Snippet) -> Wanted:
    """Returns the target of a definition. The block's own name is the target, so that a test can be renamed, or else
    its class."""
    scope, _, name = edit.name.rpartition(".")
    known = {place.simple for place in file.definitions if place.kind is definition.kind}
    if not name or (name != definition.name and (name not in known or len(snippet.definitions) > 1)):
        scope, name = edit.name, definition.name
    method = definition.method or snippet.indented or bool(scope)
    return Wanted(kind=definition.kind, name=name, scope=scope, hint=edit.hint, method=method)


def _worst(found: Sequence[FoundPlace]) -> Match:
    order = list(Match)
    return max((one.match for one in found), key=order.index, default=Match.EXACT)


def _swap(file: Outline, place: OutlineEntry, statement: Statement) -> None:
    """Replace a definition by a statement. Comments that already precede the definition are not repeated."""
    lines = statement.at(place.indent)
    above = file.lines[max(0, place.start - 1 - len(lines)) : place.start - 1]
    comments = next((at for at, line in enumerate(lines) if not line.lstrip().startswith("#")), 0)
    if comments and [line.strip() for line in above[-comments:]] == [line.strip() for line in lines[:comments]]:
        lines = lines[comments:]
    file.replace(place.start, place.end, lines)
    _learn(file, place.start, lines, place)


def _learn(file: Outline, start: int, lines: Sequence[str], around: OutlineEntry) -> None:
    """Add the definitions in inserted lines to the outline; `around` is the entry that contains them."""
    depth = len(around.indent)
    part = outline("\n".join(line[depth:] if not line[:depth].strip() else line for line in lines) + "\n")
    prefix = around.name.rpartition(".")[0]
    for place in part.places if part else ():
        own = ".".join(filter(None, (prefix, place.name))) if place.name else ""
        file.remember(
            replace(
                place,
                name=own,
                start=place.start + start - 1,
                end=place.end + start - 1,
                head=place.head + start - 1,
                indent=around.indent + place.indent,
                inner=around.indent + place.inner if place.inner else "",
                top=around.top and place.top,
                scope=".".join(filter(None, (prefix, place.scope))) if place.scope else around.scope,
            )
        )


def _insert(file: Outline, edit: Edit, snippet: Snippet) -> Outcome:
    """Insert the code. Existing definitions of the same name are rewritten instead: a second one would hide the
    first."""
    owner = _owner(file, edit, snippet)
    if isinstance(owner, EditRefused):
        return owner
    new: list[Statement] = []
    for statement in snippet.statements:
        twin = _twin(file, statement, owner)
        if twin is None:
            new.append(statement)
        elif statement.kind is CodeKind.CLASS and not twin.one_line:
            _merge(file, twin, statement)
        else:
            _swap(file, twin, statement)
    if owner is None:
        _insert_at_top(file, edit.hint, new)
    else:
        _hoist(file, [one for one in new if one.kind in (CodeKind.IMPORT, CodeKind.FUTURE)])
        _insert_in_class(
            file, owner, edit.hint, [one for one in new if one.kind not in (CodeKind.IMPORT, CodeKind.FUTURE)]
        )
    return Match.EXACT


def _owner(file: Outline, edit: Edit, snippet: Snippet) -> OutlineEntry | EditRefused | None:
    """Returns the class that the code belongs to; None for code at module level."""
    classes = [place for place in file.definitions if place.kind is CodeKind.CLASS]
    own = {statement.name for statement in snippet.definitions}
    if edit.name and edit.name not in own and edit.name.rpartition(".")[2] not in own:
        found = find(
            file, Wanted(kind=CodeKind.CLASS, name=edit.name.rpartition(".")[2], scope="", hint=edit.hint, method=False)
        )
        return (
            _with_body(found.place, edit)
            if isinstance(found, FoundPlace)
            else replace(found, detail=f"{edit.path}: {found.detail}")
        )
    if not any(one.method for one in snippet.statements):
        return None
    if not classes:
        return EditRefused(reason=EditReason.NO_CLASS, detail=f"{edit.path}: a method needs a class, and there is none")
    hint = edit.hint if edit.hint.anchor is not Anchor.NONE else Hint(anchor=Anchor.END)
    return _with_body(min(reversed(classes), key=lambda place: distance(file, place, hint)), edit)


def _with_body(place: OutlineEntry, edit: Edit) -> OutlineEntry | EditRefused:
    if place.one_line:
        return EditRefused(reason=EditReason.ONE_LINE_CLASS, detail=f"{edit.path}: {place.name} has no body of its own")
    return place


def _twin(file: Outline, statement: Statement, owner: OutlineEntry | None) -> OutlineEntry | None:
    """Returns the definition of the same kind and name in the same scope."""
    if statement.kind not in (CodeKind.FUNCTION, CodeKind.CLASS):
        return None
    name = f"{owner.name}.{statement.name}" if owner else statement.name
    twins = [one for one in file.definitions if one.name == name and one.kind is statement.kind and (owner or one.top)]
    return twins[-1] if twins else None


def _merge(file: Outline, into: OutlineEntry, statement: Statement) -> None:
    """Merge the members of a class into the class of the same name. Members that exist there are rewritten."""
    present = {line.strip() for line in file.lines[into.start - 1 : into.end]}
    new = []
    for number, member in enumerate(statement.body):
        twin = _twin(file, member, into)
        if twin is not None:
            _swap(file, twin, member)
        elif member.kind in (CodeKind.FUNCTION, CodeKind.CLASS) or not (
            _is_docstring(member, number) or member.lines[-1].strip() in present
        ):
            new.append(member)
    _insert_in_class(file, into, Hint(anchor=Anchor.END), new)


def _is_docstring(member: Statement, number: int) -> bool:
    return (number == 0 and member.lines[0].strip().lstrip("rRuU")[:1] in "'\"") or member.lines[-1].strip() == "pass"


def _insert_in_class(file: Outline, owner: OutlineEntry, hint: Hint, new: Sequence[Statement]) -> None:
    """Insert after the member at the hint, else at the end of the class."""
    if not new:
        return
    after = owner.end
    if hint.anchor is Anchor.LINE:
        line = file.now(hint.line)
        members = [place for place in file.definitions if place.scope == owner.name and place.covers(line)]
        after = members[0].end if members else after
    _put(file, after, new, owner.inner, CLASS_GAP, f"{owner.name}.", owner.name)


def _insert_at_top(file: Outline, hint: Hint, new: Sequence[Statement]) -> None:
    """Insert between statements of the module: never inside one, and never above the docstring."""
    _hoist(file, [one for one in new if one.kind is CodeKind.FUTURE])
    known = _imports(file)
    rest = [one for one in new if one.kind is not CodeKind.FUTURE and _text(one) not in known]
    if not rest:
        return
    defines = any(one.kind in (CodeKind.FUNCTION, CodeKind.CLASS) for one in rest)
    gap = TOP_GAP if defines else 1
    if hint.anchor is Anchor.START:
        after = file.imports_end if defines else file.head_end
        gap = gap if defines or not _import_below(file, after) else 0
    elif hint.anchor is Anchor.LINE:
        after = _boundary(file, file.now(hint.line))
    else:
        after = file.body_end
    _put(file, after, rest, "", gap, "", "")


def _boundary(file: Outline, line: int) -> int:
    """Returns the last line of the statement that contains a line, or of the one above it."""
    above = [place.end for place in file.statements if place.start <= line]
    return min(max([*above, file.head_end]), max(file.body_end, file.head_end))


def _import_below(file: Outline, line: int) -> bool:
    return any(
        place.kind is CodeKind.IMPORT and place.start <= line + 2 for place in file.statements if place.start > line
    )


def _hoist(file: Outline, statements: Sequence[Statement]) -> None:
    """Insert imports (and other statements of a rewrite) below the imports of the file, unless they exist."""
    known = _imports(file)
    futures = [one for one in statements if one.kind is CodeKind.FUTURE and _text(one) not in known]
    others = [one for one in statements if one.kind is not CodeKind.FUTURE and _text(one) not in known]
    for group, after in ((futures, file.head_end), (others, None)):
        if group:
            at = file.imports_end if after is None else after
            follows = any(
                place.end == at and place.kind in (CodeKind.IMPORT, CodeKind.FUTURE) for place in file.statements
            )
            _put(file, at, group, "", 0 if follows else 1, "", "")


def _imports(file: Outline) -> set[str]:
    """Returns the import statements of the module, with normalized blanks."""
    imports = (place for place in file.statements if place.kind in (CodeKind.IMPORT, CodeKind.FUTURE))
    return {" ".join("".join(file.lines[place.start - 1 : place.end]).split()) for place in imports}


def _text(statement: Statement) -> str:
    """Returns an import without comments and with normalized blanks. Other statements return a text that matches no
    import."""
    lines = [line for line in statement.lines if not line.lstrip().startswith("#")]
    return " ".join("\n".join(lines).split()) if statement.kind in (CodeKind.IMPORT, CodeKind.FUTURE) else "\0"


def _put(file: Outline, after: int, new: Sequence[Statement], indent: str, gap: int, prefix: str, scope: str) -> None:
    """Insert statements below line `after`, with `gap` blank lines on both sides."""
    lines: list[str] = []
    for statement in new:
        lines += [""] * (statement.gap if lines else 0) + statement.at(indent)
    blanks = 0
    while after + blanks < len(file.lines) and not file.lines[after + blanks].strip():
        blanks += 1
    last = after + blanks == len(file.lines)
    above = [""] * (gap if after else 0)
    file.replace(after + 1, after, [*above, *lines, *([""] * (0 if last else max(0, gap - blanks)))])
    start = after + 1 + len(above)
    around = OutlineEntry(
        kind=CodeKind.OTHER, name=prefix, start=start, end=start, head=start, indent=indent, inner="",
        one_line=False, top=not scope, scope=scope,
    )  # fmt: skip
    _stretch(file, after, scope, len(above) + len(lines))
    _learn(file, start, lines, around)


def _stretch(file: Outline, after: int, scope: str, count: int) -> None:
    """Extend the classes of `scope` that end at line `after` by the inserted lines."""
    parts = scope.split(".") if scope else []
    owners = {".".join(parts[:size]) for size in range(1, len(parts) + 1)}
    for place in file.places:
        if place.name in owners and place.kind is CodeKind.CLASS and place.end == after:
            place.end += count


def _delete(file: Outline, edit: Edit, snippet: Snippet | None) -> Outcome:
    """Delete definitions, with the comments right above them."""
    names = [edit.name] if edit.name else [one.name for one in snippet.definitions] if snippet else []
    if not names:
        names = [edit.code.strip()] if edit.code.strip().replace(".", "").isidentifier() else []
    if not names:
        return EditRefused(reason=EditReason.NO_DEFINITION, detail=f"{edit.path}: nothing is named to be deleted")
    found = []
    for full in names:
        scope, _, name = full.rpartition(".")
        method = bool(snippet and (snippet.indented or any(one.method for one in snippet.definitions)))
        one = find(file, Wanted(kind=None, name=name, scope=scope, hint=edit.hint, method=method))
        if isinstance(one, EditRefused):
            return replace(one, detail=f"{edit.path}: {one.detail}")
        found.append(one)
    for one in found:
        _take_out(file, one.place)
    return _worst(found)


def _take_out(file: Outline, place: OutlineEntry) -> None:
    """Remove a definition. A body that becomes empty gets a `pass`."""
    start, end = place.start, place.end
    while start > 1 and file.lines[start - 2].startswith(f"{place.indent}#"):
        start -= 1
    if place.alone:
        file.replace(start, end, [f"{place.indent}pass"])
        return
    while end < len(file.lines) and not file.lines[end].strip():
        end += 1
    if end == len(file.lines) or (place.scope and _last_in_class(file, place)):
        end = place.end
        while start > 1 and not file.lines[start - 2].strip():
            start -= 1
    file.replace(start, end, [])
    owner = next((one for one in file.places if one.name == place.scope and one.kind is CodeKind.CLASS), None)
    if owner and parse(textwrap.dedent("".join(file.lines[owner.start - 1 : owner.end]))) is None:
        file.replace(owner.end + 1, owner.end, [f"{owner.inner}pass"])


def _last_in_class(file: Outline, place: OutlineEntry) -> bool:
    return any(one.name == place.scope and one.end == place.end for one in file.places)
