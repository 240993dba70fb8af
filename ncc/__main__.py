"""`python -m ncc` is the command `ncc`."""

from ncc.compiler.cli import main

main()
