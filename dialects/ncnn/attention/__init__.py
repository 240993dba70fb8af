"""Layers of attention: with any number of heads, over growing caches, in int8."""

from ncc.dialects.ncnn.attention import attention as attention
from ncc.dialects.ncnn.attention import multi_head_attention as multi_head_attention
