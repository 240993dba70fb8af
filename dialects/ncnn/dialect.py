"""The ncnn dialect as xDSL loads it: every layer, and weights."""

from __future__ import annotations

from xdsl.ir import Dialect

from ncc.dialects.ncnn.canonicalize import chains as chains
from ncc.dialects.ncnn.canonicalize import identities as identities
from ncc.dialects.ncnn.canonicalize import neutral as neutral
from ncc.dialects.ncnn.canonicalize import reductions as reductions
from ncc.dialects.ncnn.canonicalize import redundant as redundant
from ncc.dialects.ncnn.canonicalize import views as views
from ncc.dialects.ncnn.canonicalize import whole as whole
from ncc.dialects.ncnn.layer import LAYERS
from ncc.dialects.ncnn.opaque import OpaqueOp
from ncc.dialects.weights.weight import ConstantOp, WeightAttr

NCNN = Dialect("ncnn", [*LAYERS.values(), OpaqueOp, ConstantOp], [WeightAttr])
