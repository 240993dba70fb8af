"""Passes of the linalg level that change no number: what is there behind them."""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, TensorType
from xdsl.passes import ModulePass

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from tests.structured.evaluate import evaluate


def after(module: ModuleOp, *passes: ModulePass) -> list[LinalgOp]:
    """The operations of the network behind passes, each of which leaves all its results."""
    function = network_of(module)
    types = function.function_type.inputs.data
    shapes = [type.get_shape() for type in types if isinstance(type, TensorType)]
    draw = np.random.default_rng(0)
    feeds = [draw.integers(-9, 9, shape).astype(np.float32) for shape in shapes]
    wanted = evaluate(function, feeds)
    for one in passes:
        one.apply(Context(), module)
        module.verify()
        for a, b in zip(wanted, evaluate(network_of(module), feeds), strict=True):
            np.testing.assert_array_equal(a, b)
    return list(map(LinalgOp, generics_of(network_of(module).body.block)))


def marked(module: ModuleOp) -> ModuleOp:
    """The network, whose operations have attributes now: what they say holds of them alone."""
    for op in generics_of(network_of(module).body.block):
        op.attributes["valid_extents"] = ArrayAttr([])
    return module
