"""One table: what was measured, against what, and whether that is good."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was measured, against what; a ratio of at most `goal` is good."""

    measure: str
    ours: float
    reference: float
    reference_name: str
    unit: str
    goal: float
    higher_is_better: bool = False

    @property
    def ratio(self) -> float:
        """Ours over the reference, or the other way round where more is better: small is good in either case."""
        return self.reference / self.ours if self.higher_is_better else self.ours / self.reference


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows as a Markdown table, and how busy the machine was with other things."""
    print("| measure | ours | against | its value | ratio | goal | |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        verdict = "met" if row.ratio <= row.goal else "missed"
        print(
            f"| {row.measure} | {row.ours:.4g} {row.unit} | {row.reference_name} | {row.reference:.4g} {row.unit} "
            f"| {row.ratio:.3g} | ≤ {row.goal:g} | {verdict} |"
        )
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
