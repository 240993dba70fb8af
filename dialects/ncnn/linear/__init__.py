"""Layers that are products of matrices: of weights, of inputs, of whatever letters say."""

from ncc.dialects.ncnn.linear import einsum as einsum
from ncc.dialects.ncnn.linear import gemm as gemm
from ncc.dialects.ncnn.linear import linear as linear
