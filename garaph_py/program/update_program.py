"""`UpdateProgram`: vertex programs in the words of Grus, whose interface is prepare, update, generate."""

from __future__ import annotations

from ..errors import ProgramError
from .vertex_program import VertexProgram

TRANSLATED = {"update": "gather", "generate": "activate", "atomic": "sum"}
"""What a program in Grus's words defines, and what `VertexProgram` calls it."""


class UpdateProgram(VertexProgram):
    """A vertex program that is written as prepare, update and generate (Grus section 4.3, Figure 7).

    A subclass says what `VertexProgram` has other words for; all else is as it is there:

    ============ ======================= ==========================================================================
    name         in `VertexProgram`      what it is
    ============ ======================= ==========================================================================
    `update`     `gather`                function of ``src``, ``edge``: what an edge updates its target's label with
    `atomic`     `sum`                   the atomic operation that does so: `garaph_py.min`, ``max``, ``add``, ...
    `generate`   `activate`              function of ``new``, ``old``: whether a vertex joins the frontier (default:
                                         its label has changed)
    `prepare`    `prepare`               function of ``value``: every vertex's label before an iteration (default: as
                                         it is)
    ============ ======================= ==========================================================================

    Whether a label is updated by atomic operations or by one thread that gathers is the engine's choice. A program
    without `prepare` and `generate` whose `atomic` is idempotent is a relaxation, as in `VertexProgram`.

    Raises
    ------
    ProgramError
        When the class is defined: if it has no `update` or `atomic`, or uses both names of one thing.

    Examples
    --------
    Grus's Figure 7(b):

    >>> import numpy as np
    >>> class Distances(gp.UpdateProgram):
    ...     source: gp.VertexId
    ...     value = np.int64
    ...     atomic = gp.min
    ...
    ...     def init(self, id):
    ...         return 0 if id == self.source else self.identity
    ...
    ...     def frontier(self, id):
    ...         return id == self.source
    ...
    ...     def update(self, src, edge):
    ...         return src + edge if src != self.identity else src
    >>> graph = gp.from_edges([0, 0, 1], [1, 2, 2], weights=[1, 5, 2])
    >>> gp.run(Distances(source=0), graph).column()
    array([0, 1, 3])
    """

    def __init_subclass__(cls) -> None:
        for own, meant in TRANSLATED.items():
            if meant in vars(cls):
                raise ProgramError(f"{cls.__name__}.{meant}: an UpdateProgram calls it {own}; choose one of the two")
            if own in vars(cls):
                setattr(cls, meant, vars(cls)[own])
                delattr(cls, own)
            elif own != "generate" and not hasattr(cls, meant):
                raise ProgramError(f"{cls.__name__} has no {own}; every UpdateProgram needs one")
        super().__init_subclass__()
