"""Compilations without fusion of kernels, to compare with."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.passes import linalg_passes
from ncc.compiler.pipeline import Compilation


class OneByOne(Compilation):
    """Each operation is a kernel of its own."""

    def structured(self, module: ModuleOp) -> ModuleOp:
        for one in [*linalg_passes(self.options)[:-1], FormFusionGroups(epilogues=False)]:
            one.apply(self.context, module)
        return module
