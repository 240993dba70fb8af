"""Quantization: layers between float32 and integers, and arithmetic of integers."""

from ncc.dialects.ncnn.quantization import quantize as quantize
