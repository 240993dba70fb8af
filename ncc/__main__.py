"""The command `ncc`, which is `python -m ncc`, too."""

import gc
import sys


def main() -> None:
    """Import the commands, and run the one that is asked for."""
    gc.disable()  # what is imported is no garbage, and to look for some takes a tenth of the time
    try:
        from ncc.compiler import cli
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "ncc":
            raise
        sys.exit(
            f"ncc: the command needs {error.name}, which is not installed: install ncc with its "
            "dependencies (in Python, ncc.load needs numpy alone)"
        )
    cli.main()


if __name__ == "__main__":
    main()
