"""Networks that are compiled by passes of the linalg level, and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ncc


def compiled(param: Path, x: Any, target: str, **settings: Any) -> tuple[Any, Any]:
    """What a network of random weights makes of x at -O1, which rewrites nothing there, and at -O2:
    the same bits on one thread and on two.
    """
    settings |= {"random_weights": 1, "target": target}
    plain = ncc.compile(param, opt_level=1, **settings)(x)
    one, two = (ncc.compile(param, num_threads=threads, **settings)(x) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    return plain, one
