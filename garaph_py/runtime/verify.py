"""Calls the verifier of a program, which checks that an answer has the properties that define it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..errors import ParameterError, ProgramError
from ..graph import Graph
from ..graph.arguments import kind_of
from ..output.result import Result
from ..program import VertexProgram, oriented
from ..program.methods import REFUSALS, call_method
from ..system.sizes import counted


def check_result(program: VertexProgram, graph: Graph, result: Result) -> None:
    """Run the program's property verifier: `garaph_py.check` for a program.

    Raises
    ------
    VerificationError
        If the answer violates a property.
    ProgramError
        If the verifier raises an exception of another kind, or returns something.
    ParameterError
        If the program has no verifier, or `result` is not that of a run on such a graph.
    """
    if not isinstance(result, Result):
        raise ParameterError(f"check takes the Result of a run, not {kind_of(result)}; give what gp.run returned")
    if len(result) != graph.n:
        sizes = counted(len(result), "value"), counted(graph.n, "vertex", "vertices")
        raise ParameterError(f"the result has {sizes[0]}, but the graph has {sizes[1]}; give the graph of the run")
    verifier_of(program)(oriented(program, graph), result)


def verifier_of(program: VertexProgram) -> Callable[[Graph, Result], None]:
    """The program's property verifier.

    Raises
    ------
    ParameterError
        If the program has none.
    """
    if program.verify is None:
        raise ParameterError(f"{type(program).__name__} has no verifier; run it without verify=True (--verify)")
    return partial(verified, program)


def verified(program: VertexProgram, graph: Graph, result: Result) -> None:
    """Call the program's `verify`, which raises an error or returns nothing."""
    answer = call_method(program, "verify", graph, result)
    if answer is not None:
        raise ProgramError(f"{type(program).__name__}.verify returns {answer!r:.40}; {REFUSALS['verify']}")
