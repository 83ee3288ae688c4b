"""Prints the rows of a benchmark: aligned columns for people, JSON for scripts."""

import json
from collections.abc import Mapping, Sequence

Cell = str | int | float | None


def show(rows: Sequence[Mapping[str, Cell]], as_json: bool = False) -> None:
    """Print ``rows``; all have the columns of the first."""
    print(json.dumps([dict(row) for row in rows], indent=2, allow_nan=False) if as_json else table(rows))


def table(rows: Sequence[Mapping[str, Cell]]) -> str:
    """Columns in the order of the first row; numbers to the right, words to the left, nothing as a dash."""
    if not rows:
        return "(no rows)"
    names = list(rows[0])
    columns = [[name, *(written(row[name]) for row in rows)] for name in names]
    numeric = [all(isinstance(row[name], int | float | None) for row in rows) for name in names]
    lines = []
    for place in range(len(rows) + 1):
        cells = []
        for column, right in zip(columns, numeric, strict=True):
            width = max(map(len, column))
            cells.append(column[place].rjust(width) if right else column[place].ljust(width))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def written(value: Cell) -> str:
    """Three figures that mean something; whole numbers whole."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
