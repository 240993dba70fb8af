"""Values in blocks hold what they were made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.layout.blocks import pack, unpack
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shapes import Shape
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(16, 3, 2), (5, 17, 1), (33, 1, 20)])
def test_there_and_back(make_network: MakeNetwork, shape: Shape, axis: int) -> None:
    """Unpacking what was packed gives it back; elements past the end are zero in between."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        blocks = pack(b, x, axis)
        return [unpack(b, blocks, axis, x.shape), blocks]

    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    back, blocks = evaluate(network_of(make_network([shape], write)), [x])
    np.testing.assert_array_equal(back, x)
    assert blocks.shape[axis] == -(-shape[axis] // BLOCK) and blocks.shape[-1] == BLOCK
    assert np.isclose(np.abs(blocks).sum(dtype=np.float64), np.abs(x).sum(dtype=np.float64))
