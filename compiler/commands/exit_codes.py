"""The exit codes of `ncc`."""

OK = 0
WRONG = 1
"""The model, an input or a file is wrong, or missing."""
USAGE = 2
"""The command line is wrong."""
UNSUPPORTED = 3
"""ncc does not support something in the model."""
BUG = 4
"""A bug of ncc."""
DIFFERS = 5
"""`ncc verify` found a difference."""
INTERRUPTED = 130
