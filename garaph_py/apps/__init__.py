"""The library of vertex programs, one per file. Each states its equation, parameters, result and literature."""

from typing import Any

from ..errors import did_you_mean
from .bfs import BFS
from .circuit_simulation import CircuitSimulation
from .connected_components import ConnectedComponents
from .delta_pagerank import DeltaPageRank
from .heat_simulation import HeatSimulation
from .neural_network import NeuralNetwork
from .pagerank import PageRank
from .penalized_hitting_probability import PenalizedHittingProbability
from .sssp import SSSP
from .sswp import SSWP

__all__ = [
    "BFS",
    "SSSP",
    "SSWP",
    "CircuitSimulation",
    "ConnectedComponents",
    "DeltaPageRank",
    "HeatSimulation",
    "NeuralNetwork",
    "PageRank",
    "PenalizedHittingProbability",
]


def __getattr__(name: str) -> Any:
    advice = f"; {did_you_mean(name, __all__, 'it has ' + ', '.join(__all__))}" if name[:1].isupper() else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{advice}")
