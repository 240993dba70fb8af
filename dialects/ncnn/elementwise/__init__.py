"""Elementwise layers: functions, arithmetic of blobs, arithmetic with numbers of each channel."""

from ncc.dialects.ncnn.elementwise import activation_layers as activation_layers
from ncc.dialects.ncnn.elementwise import arithmetic as arithmetic
from ncc.dialects.ncnn.elementwise import per_channel as per_channel
from ncc.dialects.ncnn.elementwise import unary as unary
