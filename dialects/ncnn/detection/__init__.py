"""Layers of detection: prior boxes, regions of a map, and detections."""

from ncc.dialects.ncnn.detection import detection as detection
from ncc.dialects.ncnn.detection import prior_box as prior_box
from ncc.dialects.ncnn.detection import proposal as proposal
from ncc.dialects.ncnn.detection import regions as regions
from ncc.dialects.ncnn.detection import roi_align as roi_align
from ncc.dialects.ncnn.detection import yolo as yolo
