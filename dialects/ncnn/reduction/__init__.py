"""Layers that take the values along an axis together: folds, Softmax, the largest, scans."""

from ncc.dialects.ncnn.reduction import argmax as argmax
from ncc.dialects.ncnn.reduction import reduction as reduction
from ncc.dialects.ncnn.reduction import scan as scan
