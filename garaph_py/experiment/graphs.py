"""`GraphName`: the name of a graph in a spec, which stands for a file or for a graph to generate."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import events
from ..errors import ParameterError
from ..graph import Graph
from ..graph.generate import rmat, uniform, whole
from ..io.load import LoadOptions, load
from ..io.write import write

GENERATORS: dict[str, Callable[..., Graph]] = {"rmat": rmat, "uniform": uniform}
SYMMETRIC, WEIGHTS = "symmetric", "weights"
WEIGHT_RANGE = (1, 255)
FORM = "write a file, a directory, or rmat:SCALE:EDGE_FACTOR or uniform:..., with :symmetric and :weights behind it"


@dataclass(frozen=True)
class GraphName:
    """The name of a graph in a spec: a file, a graph directory, or a graph to generate.

    Attributes
    ----------
    text : str
        The name in the spec.
    path : Path or None
        The file or directory; None for a graph to generate.
    generator : str
        The name of its generator in `GENERATORS`.
    scale, edge_factor : int
        The graph has 2^scale vertices, and `edge_factor` edges per vertex.
    symmetric : bool
        The graph has every edge in both directions.
    weighted : bool
        Edges have random integer values in `WEIGHT_RANGE`.
    """

    text: str
    path: Path | None = None
    generator: str = ""
    scale: int = 0
    edge_factor: int = 0
    symmetric: bool = False
    weighted: bool = False

    def load(self, on_event: events.Listener) -> Graph:
        """Load or generate the graph."""
        if self.path is not None:
            return load(self.path, LoadOptions(symmetrize=self.symmetric), on_event=on_event)
        return self._generate(not self.symmetric, on_event)

    def file(self, folder: Path, on_event: events.Listener) -> Path:
        """A file with the graph's edges; for a generated graph, a text file in `folder` that has every edge once."""
        if self.path is not None:
            return self.path
        path = folder / "edges.tsv"
        write(self._generate(True, on_event), path, on_event=on_event)
        return path

    def _generate(self, directed: bool, on_event: events.Listener) -> Graph:
        weights = WEIGHT_RANGE if self.weighted else None
        make = GENERATORS[self.generator]
        return make(self.scale, self.edge_factor, directed=directed, weights=weights, on_event=on_event)


def named(text: str, folder: Path) -> GraphName:
    """The graph that `text` names; the paths of files are relative to `folder`.

    Raises
    ------
    ParameterError
        If there is no such file, or the name is invalid.
    """
    kind, *rest = text.split(":")
    if kind not in GENERATORS:
        symmetric = text.endswith(f":{SYMMETRIC}")
        path = folder / text.removesuffix(f":{SYMMETRIC}")
        if not os.path.exists(path):
            raise ParameterError(f"{text!r}: there is no {path}; {FORM}")
        return GraphName(text, path, symmetric=symmetric)
    numbers, flags = rest[:2], rest[2:]
    if len(numbers) < 2 or not all(number.isdigit() for number in numbers) or set(flags) - {SYMMETRIC, WEIGHTS}:
        raise ParameterError(f"{text!r}: {FORM}")
    scale, edge_factor = whole("scale", int(numbers[0]), 0, 31), whole("edge factor", int(numbers[1]), 0, 1 << 17)
    return GraphName(text, None, kind, scale, edge_factor, SYMMETRIC in flags, WEIGHTS in flags)
