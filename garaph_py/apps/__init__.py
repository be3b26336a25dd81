"""The library of vertex programs, one per file. Each states its equation, its parameters, its result and its source."""

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
