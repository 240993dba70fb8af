"""The command `ncc`, which is `python -m ncc`, too."""

import gc


def main() -> None:
    """Import the commands, and run the one that is asked for."""
    gc.disable()  # what is imported is no garbage, and to look for some takes a tenth of the time
    from ncc.compiler import cli

    cli.main()


if __name__ == "__main__":
    main()
