"""Layers that read an image between its pixels: at another size, at the places of a grid."""

from ncc.dialects.ncnn.sampling import grid_sample as grid_sample
from ncc.dialects.ncnn.sampling import resample as resample
