"""Integers and indices: how quotients are rounded."""

from __future__ import annotations

import numpy as np

from tests.compiler.llvm.called import Compile


def test_index_arithmetic(compiled: Compile) -> None:
    """Quotients round as their names say, casts keep the sign, extremes are signed."""
    names = ["divsi", "remsi", "floordivsi", "minsi", "maxsi", "muli", "subi"]
    lines = [
        f"%v{n} = arith.{name} %a, %b : index\n%p{n} = arith.constant {n} : index\n"
        f"%s{n} = arith.index_cast %v{n} : index to i32\n"
        f"memref.store %s{n}, %y[%p{n}] : memref<7xi32>"
        for n, name in enumerate(names)
    ]
    body = "\n".join(lines)
    code = compiled(f"""
    func.func @k(%y: memref<7xi32>, %a: index, %b: index) {{
      {body}
      func.return
    }}""")
    y = np.zeros(7, np.int32)
    for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5)]:
        code.call("k", y, a, b)
        truncated = int(a / b)
        expected = [truncated, a - b * truncated, a // b, min(a, b), max(a, b)]
        assert y.tolist() == [*expected, a * b, a - b], (a, b)
