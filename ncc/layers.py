"""What a layer from outside is made of: the names of CONTRIBUTING.md's "Add a layer".

from ncc.layers import Array, Builder, Layer, Shape, Tensor, layer, real

@layer("Snake")
class SnakeOp(Layer): ...
"""

from ncc.dialects import scalar as scalar
from ncc.dialects.ncnn.layer import Array as Array
from ncc.dialects.ncnn.layer import Builder as Builder
from ncc.dialects.ncnn.layer import Layer as Layer
from ncc.dialects.ncnn.layer import LayerError as LayerError
from ncc.dialects.ncnn.layer import Shape as Shape
from ncc.dialects.ncnn.layer import Tensor as Tensor
from ncc.dialects.ncnn.layer import Weight as Weight
from ncc.dialects.ncnn.layer import WeightAttr as WeightAttr
from ncc.dialects.ncnn.layer import integer as integer
from ncc.dialects.ncnn.layer import integers as integers
from ncc.dialects.ncnn.layer import layer as layer
from ncc.dialects.ncnn.layer import real as real
from ncc.dialects.ncnn.layer import reals as reals
from ncc.dialects.ncnn.layer import string as string
from ncc.dialects.statements import Code as Code
