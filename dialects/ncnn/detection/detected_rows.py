"""The result of detectors: rows (label, score, x1, y1, x2, y2).

Only the run knows how many rows there are. A lowering computes two values: the largest possible
number of rows, and how many of them are valid.
"""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.layer import Array
from ncc.dialects.statements import MemoryView, Value

COLUMNS = 6
"""Label, score, x1, y1, x2, y2."""


def rows_of(labels: Array, scores: Array, boxes: Array) -> Array:
    """The rows of a result."""
    columns = [labels[:, None], scores[:, None], boxes]
    return np.concatenate(columns, axis=1, dtype=np.float32)


def write_row(row: MemoryView, label: Value, score: Value, box: MemoryView) -> None:
    """A row: label, score, corners."""
    row[0] = row.code.to_float(label)
    row[1] = score
    for k in range(4):
        row[2 + k] = box[k]
