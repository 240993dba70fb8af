"""The command `ncc`, which is `python -m ncc`, too."""

import gc
import os
import sys

from ncc.runtime.errors import NccError, needing_packages


def main() -> None:
    """Import the commands, and run the one that is asked for."""
    gc.disable()  # what is imported is no garbage, and to look for some takes a tenth of the time
    if sys.argv[1:2] == ["compile"]:
        # BLAS has small products to make: its threads would only keep the cores from others.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with needing_packages("the command"):
            from ncc.compiler import cli
    except NccError as error:
        sys.exit(f"ncc: {error}")
    except KeyboardInterrupt:
        from ncc.compiler.commands.exit_codes import INTERRUPTED

        sys.exit(INTERRUPTED)
    cli.main()


if __name__ == "__main__":
    main()
