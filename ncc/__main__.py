"""The command `ncc`, which is `python -m ncc`, too."""

import gc
import os
import sys


def main() -> None:
    """Import the commands, and run the one that is asked for."""
    gc.disable()  # what is imported is no garbage, and to look for some takes a tenth of the time
    packer = None
    if sys.argv[1:2] == ["compile"]:
        # BLAS has small products to make: its threads would only keep the cores from others.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from ncc.compiler.kept.packer import Packer

        packer = Packer.for_command(sys.argv[2:])
    try:
        from ncc.compiler import cli
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "ncc":
            raise
        sys.exit(
            f"ncc: the command needs {error.name}, which is not installed: install ncc with its "
            "dependencies (in Python, ncc.load needs numpy alone)"
        )
    cli.main(packer)


if __name__ == "__main__":
    main()
