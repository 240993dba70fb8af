"""Whole numbers for float32: layers between the two, and arithmetic of what is quantized."""

from ncc.dialects.ncnn.quantization import quantize as quantize
