"""Exports the modules and runs them through ncc: right, refused by name, or WRONG.

    python -m tests.onnx.torch_modules                    all modules, both exporters
    python -m tests.onnx.torch_modules lstm grid_samples  these
    python -m tests.onnx.torch_modules --family indexing --keep exported
    python -m tests.onnx.torch_modules --ncnn             by `ncc optimize` and the wheel of ncnn

A model is right where ncc computes what torch does, at -O0 and at -O2.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.onnx.torch_modules.export import EXPORTERS, FAMILIES, export, load
from tests.onnx.torch_modules.judge import Outcome, judged


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--exporter", choices=EXPORTERS)
    parser.add_argument("--keep", help="a folder for exported models; those in it are taken")
    parser.add_argument("--ncnn", action="store_true", help="convert to ncnn, run the wheel")
    parser.add_argument("--quiet", action="store_true", help="only what is not right")
    chosen = parser.parse_args(arguments)
    families = [chosen.family] if chosen.family else FAMILIES
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(chosen.keep or temporary)
        for case in load(families):
            if chosen.modules and case.name not in chosen.modules:
                continue
            for exporter in [chosen.exporter] if chosen.exporter else EXPORTERS:
                made = export(case, exporter, folder)
                if isinstance(made, str):
                    found = Outcome(f"{case.name} ({exporter})", "not exported", made)
                else:
                    found = judged(made, ncnn=chosen.ncnn)
                counts[found.kind] += 1
                if found.kind != "right" or not chosen.quiet:
                    print(found, flush=True)
    print(dict(counts))
    return int(counts["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
