"""Layers that put elements elsewhere, or call them otherwise, and compute nothing."""

from ncc.dialects.ncnn.movement import channels as channels
from ncc.dialects.ncnn.movement import crop as crop
from ncc.dialects.ncnn.movement import movement as movement
from ncc.dialects.ncnn.movement import padding as padding
from ncc.dialects.ncnn.movement import placement as placement
from ncc.dialects.ncnn.movement import reshape as reshape
