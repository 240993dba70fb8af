"""The layers of the ncnn dialect, family by family: importing this fills `layer.LAYERS`."""

from ncc.dialects.ncnn import argmax as argmax
from ncc.dialects.ncnn import arithmetic as arithmetic
from ncc.dialects.ncnn import attention as attention
from ncc.dialects.ncnn import channels as channels
from ncc.dialects.ncnn import convolution as convolution
from ncc.dialects.ncnn import detection as detection
from ncc.dialects.ncnn import einsum as einsum
from ncc.dialects.ncnn import gemm as gemm
from ncc.dialects.ncnn import grid_sample as grid_sample
from ncc.dialects.ncnn import linear as linear
from ncc.dialects.ncnn import local_response as local_response
from ncc.dialects.ncnn import movement as movement
from ncc.dialects.ncnn import normalization as normalization
from ncc.dialects.ncnn import padding as padding
from ncc.dialects.ncnn import per_channel as per_channel
from ncc.dialects.ncnn import placement as placement
from ncc.dialects.ncnn import plumbing as plumbing
from ncc.dialects.ncnn import pooling as pooling
from ncc.dialects.ncnn import quantization as quantization
from ncc.dialects.ncnn import recurrent as recurrent
from ncc.dialects.ncnn import reduction as reduction
from ncc.dialects.ncnn import resample as resample
from ncc.dialects.ncnn import reshape as reshape
from ncc.dialects.ncnn import scan as scan
from ncc.dialects.ncnn import spectrum as spectrum
from ncc.dialects.ncnn import unary as unary
