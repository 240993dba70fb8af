"""Layers of normalization: by mean, variance or norm of a region, by what lies around a value."""

from ncc.dialects.ncnn.normalization import local_response as local_response
from ncc.dialects.ncnn.normalization import normalization as normalization
from ncc.dialects.ncnn.normalization import normalize as normalize
