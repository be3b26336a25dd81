"""What a vertex program is, and how one becomes concrete for a graph."""

from .bind import BoundProgram, bind
from .monoids import Monoid
from .vertex_program import PerVertex, VertexId, VertexProgram

__all__ = ["BoundProgram", "Monoid", "PerVertex", "VertexId", "VertexProgram", "bind"]
