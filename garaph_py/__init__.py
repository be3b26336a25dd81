"""garaph_py: gather-apply-scatter vertex programs over large graphs, on one machine or a Dask cluster.

>>> import garaph_py as gp
>>> graph = gp.from_edges([0, 1, 2], [1, 2, 0])
>>> result = gp.run(gp.apps.PageRank(damping=0.85), graph, iterations=10)
>>> result.top(1)
[(0, 0.333...)]

Modules are loaded when they are first used, so that ``import garaph_py`` is fast.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, whose import takes longer than all else that a command does before `cli.main`
if TYPE_CHECKING:
    from typing import Any

    from . import algorithms, apps, errors, events
    from .algorithms.check import check
    from .dispatch.engines import Emogi, EtaGraph, Grus, HyTGraph
    from .dispatch.observation import Observation
    from .dispatch.policy import AutoPolicy, GaraphPolicy, Policy
    from .errors import GaraphError
    from .executor.decision import Decision, PageDecision
    from .graph import Graph, from_edges, from_networkx, from_scipy
    from .graph.csr import from_csr
    from .graph.generate import rmat, uniform
    from .io.frames import from_arrow, from_pandas
    from .io.read import read
    from .io.write import write
    from .output import Progress
    from .output.many import ResultTable
    from .output.result import Result
    from .program import Monoid, PerVertex, UpdateProgram, VertexId, VertexProgram
    from .program.monoids import (
        add,
        bitwise_and,
        bitwise_or,
        bitwise_xor,
        logical_and,
        logical_or,
        logical_xor,
        max,
        min,
        mul,
    )
    from .runtime.explain import plan
    from .runtime.many import run_many
    from .runtime.on_device import on_device
    from .runtime.on_device import to_device as to_device  # for `Graph.to_device`
    from .runtime.options import Options
    from .runtime.run import run
    from .storage.directory import open, save

# Public names and the modules that define them.
_HOME = {
    "GaraphError": "errors", "Graph": "graph", "from_edges": "graph", "from_networkx": "graph", "from_scipy": "graph",
    "from_csr": "graph.csr", "from_pandas": "io.frames", "from_arrow": "io.frames",
    "rmat": "graph.generate", "uniform": "graph.generate", "read": "io.read", "write": "io.write",
    "open": "storage.directory", "save": "storage.directory", "Monoid": "program", "PerVertex": "program",
    "VertexId": "program", "VertexProgram": "program", "UpdateProgram": "program", "Progress": "output",
    "Result": "output.result", "ResultTable": "output.many",
    "Options": "runtime.options", "check": "algorithms.check", "run": "runtime.run",
    "run_many": "runtime.many", "plan": "runtime.explain",
    "on_device": "runtime.on_device", "to_device": "runtime.on_device",
    "Emogi": "dispatch.engines", "EtaGraph": "dispatch.engines", "Grus": "dispatch.engines",
    "HyTGraph": "dispatch.engines",
    "Policy": "dispatch.policy", "AutoPolicy": "dispatch.policy", "GaraphPolicy": "dispatch.policy",
    "Observation": "dispatch.observation", "Decision": "executor.decision", "PageDecision": "executor.decision",
} | dict.fromkeys(
    ("add", "mul", "min", "max", "logical_and", "logical_or", "logical_xor",
     "bitwise_and", "bitwise_or", "bitwise_xor"),
    "program.monoids",
)  # fmt: skip
_MODULES = ("algorithms", "apps", "errors", "events")

__version__ = "0.1.0"
__all__ = [  # noqa: RUF022 - by topic
    "read", "write", "open", "save", "from_edges", "from_scipy", "from_networkx",
    "from_pandas", "from_arrow", "from_csr", "rmat", "uniform", "Graph",
    "run", "run_many", "plan", "Options", "Emogi", "EtaGraph", "Grus", "HyTGraph",
    "Policy", "AutoPolicy", "GaraphPolicy", "Observation", "Decision", "PageDecision",
    "on_device", "check", "Result", "ResultTable", "Progress",
    "apps", "VertexProgram", "UpdateProgram", "VertexId", "PerVertex", "Monoid",
    "add", "mul", "min", "max", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "algorithms", "GaraphError", "errors", "events",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_advice(name)}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def _advice(name: str) -> str:
    """What to write instead of ``gp.name``, after a semicolon; empty for names that are not like a class's.

    Python itself looks for the others, before it imports a module of the package.
    """
    if not name[:1].isupper():
        return ""
    from . import apps
    from .errors import did_you_mean

    if name in apps.__all__:
        return f"; write gp.apps.{name}"
    return f"; {did_you_mean(name, [*__all__, *(f'apps.{app}' for app in apps.__all__)], 'see help(garaph_py)')}"


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
