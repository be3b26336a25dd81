"""The graphs that benchmarks name."""

from __future__ import annotations

from pathlib import Path

import garaph_py as gp

GENERATORS = {"rmat": gp.rmat, "uniform": gp.uniform}


def load(name: str, weighted: bool = False) -> gp.Graph:
    """``rmat:SCALE:EDGE_FACTOR[:symmetric][:weighted]``, the same with ``uniform``, or a file or directory.

    Generated graphs have integer values from 1 to 255 if the name says so, or they are to be `weighted`.
    """
    kind, *rest = name.split(":")
    if kind in GENERATORS:
        weights = (1, 255) if weighted or "weighted" in rest else None
        return GENERATORS[kind](int(rest[0]), int(rest[1]), directed="symmetric" not in rest, weights=weights)
    return gp.open(name, encoding="raw") if Path(name).is_dir() else gp.read(name)
