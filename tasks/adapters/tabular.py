"""Answers of the warehouse as people and programs read them: text, Markdown, LaTeX, CSV, JSON, Parquet."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tasks.adapters.text import printable, spreadsheet_cell

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("table", "json", "csv", "parquet", "markdown", "latex")
TEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def write_answer(answer: pa.Table, output: str, out: IO[bytes]) -> None:
    """The answer in one of `FORMATS`, in UTF-8."""
    if output == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(answer, out)
    elif output == "csv":
        text = _csv(answer)
        out.write((printable(text) if out.isatty() else text).encode("utf-8", "backslashreplace"))
    elif output == "json":
        import json

        text = json.dumps(answer.to_pylist(), default=str, indent=1).replace("\x7f", "\\u007f")
        out.write(f"{text}\n".encode("utf-8", "backslashreplace"))
    elif output in ("markdown", "latex"):
        rows = markdown_table(answer) if output == "markdown" else latex_table(answer)
        out.write(rows.encode("utf-8", "backslashreplace"))
    else:
        out.write(text_table(answer).encode("utf-8", "backslashreplace"))


def _csv(answer: pa.Table) -> str:
    """Null is empty, a list is JSON, a whole number stays one beside nulls."""
    import json

    import pandas as pd

    def plain(value: object) -> object:
        return json.dumps(value, default=str) if isinstance(value, list | dict) else spreadsheet_cell(value)

    rows = zip(*(map(plain, column.to_pylist()) for column in answer.columns), strict=True)
    return pd.DataFrame(list(rows), columns=answer.column_names, dtype=object).to_csv(index=False)


def text_table(answer: pa.Table) -> str:
    """The answer as aligned columns, null as `-`."""
    rows = [[_cell(value) for value in row.values()] for row in answer.to_pylist()]
    names = answer.column_names
    widths = [max([len(name), *(len(row[i]) for row in rows)]) for i, name in enumerate(names)]
    lines = [names, ["-" * width for width in widths], *rows]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines
    )


def markdown_table(answer: pa.Table) -> str:
    """The answer as a table of GitHub's Markdown: numbers to the right, null as `-`."""
    lines = [answer.column_names, ["--:" if right else "---" for right in _to_the_right(answer)]]
    lines += [[_cell(value).replace("|", "\\|") for value in row.values()] for row in answer.to_pylist()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex_table(answer: pa.Table) -> str:
    """The answer as a `tabular` with the rules of booktabs."""
    align = "".join("r" if right else "l" for right in _to_the_right(answer))
    rows = [[_tex(_cell(value)) for value in row.values()] for row in answer.to_pylist()]
    head, *body = (" & ".join(line) + r" \\" for line in [[_tex(name) for name in answer.column_names], *rows])
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _to_the_right(answer: pa.Table) -> list[bool]:
    import pyarrow as pa

    return [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in answer.schema]


def _tex(text: str) -> str:
    return text.translate(TEX)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return printable(str(value).replace("\n", "\\n")[:80])
