"""What a sweep came to, for people and for the exit code."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pyarrow as pa

from flows.asking import text_table
from flows.summary import EvaluationSummary
from flows.sweep_work import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSummary:
    """What a sweep came to."""

    payer: str
    cells: tuple[Cell, ...]
    calls: int
    """Model calls that this sweep has paid for so far, earlier processes of it included."""
    usd: float
    """Known dollars of these."""
    unpriced: int
    """Those of the calls whose cost nobody knows."""
    problems: tuple[str, ...] = ()
    """One line for each piece of work that is left, and why."""
    evaluation: EvaluationSummary | None = None

    @property
    def left(self) -> int:
        """Pairs of method and instance that are left to a later call."""
        return sum(cell.left for cell in self.cells)

    @property
    def text(self) -> str:
        """What was generated, what it scored, and what is left."""
        table = text_table(pa.Table.from_pylist([asdict(cell) for cell in self.cells]))
        unpriced = f" and {self.unpriced} calls of unknown cost" if self.unpriced else ""
        paid = f"sweep {self.payer}: {self.calls} calls, {self.usd:.4f} dollars{unpriced}; {self.left} left to do"
        return "\n".join([table, *([self.evaluation.text] if self.evaluation else []), paid])

    @property
    def exit_code(self) -> int:
        """0 done, 1 something is left, 3 nothing could be done."""
        judged = self.evaluation.exit_code if self.evaluation else 0
        if all(cell.left == cell.instances for cell in self.cells):
            return 3 if not self.calls else 1
        return 1 if self.left or judged else 0
