"""Truths about layers and their neighbours, each a pattern: at every -O level, on every machine."""
