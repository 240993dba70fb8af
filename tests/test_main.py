"""`ncc/__main__.py`: what begins the command."""

from __future__ import annotations

import subprocess
import sys

from ncc.compiler.commands import exit_codes

IMPORTING = """
import sys
from ncc.__main__ import main

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "ncc.compiler.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
main()
"""


def test_what_is_interrupted_while_it_imports_ends_quietly() -> None:
    """With the code of an interrupted command, and without a traceback."""
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, timeout=600)
    assert (done.returncode, done.stderr) == (exit_codes.INTERRUPTED, b"")
