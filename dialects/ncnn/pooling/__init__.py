"""Layers of pooling: of images, sequences and volumes."""

from ncc.dialects.ncnn.pooling import pooling as pooling
from ncc.dialects.ncnn.pooling import pooling_vectors as pooling_vectors
