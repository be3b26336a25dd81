"""`check`: verifies that an answer has the properties that define it."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import ParameterError
from ..graph import Graph
from ..output.result import Result
from ..program import VertexProgram, oriented
from ..system.arguments import explained


@explained
def check(program: VertexProgram, graph: Graph, result: Result) -> None:
    """Run the program's property verifier.

    Raises
    ------
    VerificationError
        If the answer violates a property.
    ParameterError
        If the program has no verifier.
    """
    verifier_of(program)(oriented(program, graph), result)


def verifier_of(program: VertexProgram) -> Callable[[Graph, Result], None]:
    """The program's property verifier.

    Raises
    ------
    ParameterError
        If the program has none.
    """
    verify: Callable[[Graph, Result], None] | None = getattr(program, "verify", None)
    if verify is None:
        raise ParameterError(f"{type(program).__name__} has no verifier; run it without verify=True (--verify)")
    return verify
