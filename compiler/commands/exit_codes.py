"""What `ncc` tells a shell when it ends."""

OK = 0
WRONG = 1
"""The model, an input or a file is."""
USAGE = 2
"""The command line is wrong."""
UNSUPPORTED = 3
"""The model asks for something that ncc does not do."""
BUG = 4
"""Of ncc."""
DIFFERS = 5
"""`ncc verify` found something that does."""
INTERRUPTED = 130
