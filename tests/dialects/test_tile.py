"""The `tile` dialect: printed and parsed, and what is refused."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.test import Test
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.tile import TILE, MultiplyOp

TEXT = """builtin.module {
  %x, %w, %sums, %i, %n = "test.op"() : () -> (memref<4096xbf16>, memref<512xbf16>, memref<1024xf32>, index, index)
  tile.configure %n
  tile.zero 0
  tile.load 4 from %x[%i] by %n : memref<4096xbf16>
  tile.load 6 from %w[%i] by %n : memref<512xbf16>
  tile.multiply 0 with 4 and 6
  tile.store 0 to %sums[%i] by %n : memref<1024xf32>
  tile.release
}"""  # noqa: E501


def test_printed_as_it_was_parsed() -> None:
    """All operations, in their order."""
    context = Context()
    for dialect in (Builtin, Test, TILE):
        context.load_dialect(dialect)
    module = Parser(context, TEXT).parse_op()
    assert isinstance(module, ModuleOp)
    module.verify()
    assert str(module) == TEXT


@pytest.mark.parametrize("tiles", [(4, 4, 6), (0, 3, 6), (0, 6, 4), (0, 5, 8), (-1, 4, 6)])
def test_every_tile_has_its_part(tiles: tuple[int, int, int]) -> None:
    """Four of sums, two of left operands, two of right ones."""
    MultiplyOp(3, 5, 7).verify()
    with pytest.raises(VerifyException, match="tiles 0 to 3 hold sums"):
        MultiplyOp(*tiles).verify()
