"""The operators of the ONNX dialect: importing this fills `operator.OPERATORS`.

A family is a file. The other files are what families share: `operator` says what an operator must
say, `composed` writes operators by others, `attribute` declares attributes, `broadcast` and
`windows` are rules of several families.
"""

from ncc.dialects.onnx import activations as activations
from ncc.dialects.onnx import attention_of_microsoft as attention_of_microsoft
from ncc.dialects.onnx import attention_of_standard as attention_of_standard
from ncc.dialects.onnx import binary as binary
from ncc.dialects.onnx import casts as casts
from ncc.dialects.onnx import columns as columns
from ncc.dialects.onnx import control as control
from ncc.dialects.onnx import convolution as convolution
from ncc.dialects.onnx import detection as detection
from ncc.dialects.onnx import einsum as einsum
from ncc.dialects.onnx import fused as fused
from ncc.dialects.onnx import gather as gather
from ncc.dialects.onnx import integer_products as integer_products
from ncc.dialects.onnx import linear as linear
from ncc.dialects.onnx import loops as loops
from ncc.dialects.onnx import masks as masks
from ncc.dialects.onnx import movement as movement
from ncc.dialects.onnx import normalization as normalization
from ncc.dialects.onnx import padding as padding
from ncc.dialects.onnx import plumbing as plumbing
from ncc.dialects.onnx import pooling as pooling
from ncc.dialects.onnx import quantization as quantization
from ncc.dialects.onnx import quantized as quantized
from ncc.dialects.onnx import recurrent_cells as recurrent_cells
from ncc.dialects.onnx import reduction as reduction
from ncc.dialects.onnx import resize as resize
from ncc.dialects.onnx import rotary as rotary
from ncc.dialects.onnx import sampling as sampling
from ncc.dialects.onnx import scan as scan
from ncc.dialects.onnx import scatter as scatter
from ncc.dialects.onnx import slices as slices
from ncc.dialects.onnx import softmax as softmax
from ncc.dialects.onnx import sorting as sorting
from ncc.dialects.onnx import spectrum as spectrum
from ncc.dialects.onnx import statistics as statistics
from ncc.dialects.onnx import unary as unary
