"""Layers of convolution: of images, sequences and volumes, deformable, patches as columns."""

from ncc.dialects.ncnn.convolution import convolution as convolution
from ncc.dialects.ncnn.convolution import convolution_nd as convolution_nd
from ncc.dialects.ncnn.convolution import deformable as deformable
from ncc.dialects.ncnn.convolution import patches as patches
