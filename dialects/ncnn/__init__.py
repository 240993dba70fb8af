"""The layers of the ncnn dialect: importing this fills `layer.LAYERS`.

A family has a room, or a file where one is enough. The other files are what families share:
`layer` says what a layer must say, `network` reads a module of them.
"""

from ncc.dialects.ncnn import attention as attention
from ncc.dialects.ncnn import convolution as convolution
from ncc.dialects.ncnn import detection as detection
from ncc.dialects.ncnn import elementwise as elementwise
from ncc.dialects.ncnn import linear as linear
from ncc.dialects.ncnn import movement as movement
from ncc.dialects.ncnn import normalization as normalization
from ncc.dialects.ncnn import plumbing as plumbing
from ncc.dialects.ncnn import pooling as pooling
from ncc.dialects.ncnn import quantization as quantization
from ncc.dialects.ncnn import recurrent as recurrent
from ncc.dialects.ncnn import reduction as reduction
from ncc.dialects.ncnn import sampling as sampling
from ncc.dialects.ncnn import spectrum as spectrum
