"""The kernel of a layer, for strategies to schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.dialects.shapes import Shape


@pytest.fixture
def kernel(
    make_network: Callable[..., ModuleOp], kernels_of: Callable[[ModuleOp], list[Kernel]]
) -> Callable[..., Kernel]:
    """kernel(write, *shapes): the last kernel that reduces, or the only one; channels packed."""

    def last(write: Any, *shapes: Shape, packed: bool = True) -> Kernel:
        module = make_network(list(shapes), write)
        if packed:
            PackChannels().apply(Context(), module)
        kernels = kernels_of(module)
        return ([k for k in kernels if k.reduced] or kernels)[-1]

    return last
