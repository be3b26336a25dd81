"""Vertex programs: the base class, the operations that sum contributions, and binding a program to a graph."""

from .bind import BoundProgram, bind
from .fields import PerVertex, VertexId
from .monoids import Monoid
from .orientation import oriented
from .update_program import UpdateProgram
from .vertex_program import VertexProgram

__all__ = ["BoundProgram", "Monoid", "PerVertex", "UpdateProgram", "VertexId", "VertexProgram", "bind", "oriented"]
