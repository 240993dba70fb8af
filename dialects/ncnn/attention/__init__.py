"""Layers of attention: of any heads, over caches that grow, of int8."""

from ncc.dialects.ncnn.attention import attention as attention
from ncc.dialects.ncnn.attention import multi_head_attention as multi_head_attention
