"""The ncnn dialect: one op a layer type, family by family."""

from ncc.dialects.ncnn import arithmetic as arithmetic
from ncc.dialects.ncnn import plumbing as plumbing
from ncc.dialects.ncnn import reshape as reshape
from ncc.dialects.ncnn import unary as unary
