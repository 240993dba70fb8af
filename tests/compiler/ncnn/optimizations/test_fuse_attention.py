"""Attention that was written out is one layer where its scores would go through memory."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.attention.attention import SDPAOp
from ncc.dialects.ncnn.network import Network

INPUTS = """
    Input q 0 1 q 0=4 1=300 2=3
    Input k 0 1 k 0=4 1=301 2={groups}
    Input v 0 1 v 0=2 1=301 2={groups}
    Input m 0 1 m 0=301 1=300 2={masks}
"""

FORMS = {
    "bare": """
        MatMul a 2 1 q k a 0=1
        Softmax w 1 1 a w 0=2 1=1
        MatMul y 2 1 w v y""",
    "scaled": """
        MatMul a 2 1 q k a 0=1
        BinaryOp s 1 1 a s 0=2 1=1 2=0.5
        Softmax w 1 1 s w 0=-1 1=1
        MatMul y 2 1 w v y""",
    "masked": """
        MatMul a 2 1 q k a 0=1
        BinaryOp s 1 1 a s 0=3 1=1 2=2
        BinaryOp t 2 1 s m t 0=0
        Softmax w 1 1 t w 0=2 1=1
        MatMul y 2 1 w v y""",
    "mask first": """
        MatMul a 2 1 q k a 0=1
        BinaryOp t 2 1 m a t 0=0
        Softmax w 1 1 t w 0=2 1=1
        MatMul y 2 1 w v y""",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("groups", "masks"), [(3, 3), (3, 1), (1, 3)])
def test_attention(net: Any, optimized: Any, form: str, groups: int, masks: int) -> None:
    """With keys for each head, or of all heads together; with a mask a head, or one."""
    module = net(INPUTS.format(groups=groups, masks=masks) + FORMS[form])
    assert optimized(module) == ["fuse_attention"]
    layer = Network.of(module).layers[-1]
    assert isinstance(layer, SDPAOp)
    scale = 0.5 if form in ("scaled", "masked") else 1.0
    assert (layer.scale, bool(layer.attn_mask)) == (scale, "mask" in form)


REFUSED = {
    "few": (INPUTS.replace("300", "8"), FORMS["bare"], "7224 scores stay in a cache as they are"),
    "along rows": (
        INPUTS,
        FORMS["bare"].replace("0=2 1=1", "0=1 1=1"),
        "w is not along the keys",
    ),
    "read twice": (
        INPUTS,
        FORMS["scaled"]
        .replace("a s 0=2", "a_ s 0=2")
        .replace("a 0=1", "a 0=1\nSplit z 1 2 a a_ z"),
        "a is read by others, too",
    ),
    "wide mask": (
        INPUTS.replace("0=301 1=300", "0=301 1=1"),
        FORMS["mask first"],
        "the mask is not one of rows and keys for all heads, or one a head",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(net: Any, optimized: Any, case: str) -> None:
    """Where the scores are few, are softened along rows, seen by others, or masked otherwise."""
    inputs, form, reason = REFUSED[case]
    module = net(inputs.format(groups=3, masks=3) + form)
    assert "fuse_attention" not in optimized(module)
    assert [found for _, found in explain(module, "fuse_attention")] == [reason]
