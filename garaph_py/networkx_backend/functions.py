"""What makes a function of this package one of NetworkX's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..errors import GraphError
from ..graph.arguments import check_graph
from .graph import BackendGraph, backend_graph

Function = TypeVar("Function", bound=Callable[..., Any])


def implements(unsupported: Callable[..., str | None] | None = None) -> Callable[[Function], Function]:
    """A decorator for a function with NetworkX's name and signature, whose first parameter is a `BackendGraph`.

    Callers may give it a `Graph` too; anything else is a `ParameterError`. If the function raises `GraphError`, because
    a program refuses a converted graph, such as one with lengths below 0, NetworkX gets NotImplementedError, and goes
    on with another backend. With a `Graph` of the user's, there is no other, and the error itself is what helps.

    Parameters
    ----------
    unsupported : callable, optional
        Takes the function's other arguments by name; returns why it does not run here with these, or None if it does.
    """

    def decorated(function: Function) -> Function:
        parameters = inspect.signature(function)

        @wraps(function)
        def called(G: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(G, BackendGraph):
                check_graph(G, function.__name__)
            graph = backend_graph(G)
            try:
                return function(graph, *args, **kwargs)
            except GraphError as error:
                if not graph.converted:
                    raise
                raise NotImplementedError(str(error)) from error

        def can_run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
            """True, or why not."""
            if unsupported is None:
                return True
            try:
                bound = parameters.bind(*args, **kwargs)
            except TypeError as error:
                return str(error)
            bound.apply_defaults()
            _, *others = bound.arguments.items()
            return unsupported(**dict(others)) or True

        called.can_run = can_run  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return decorated
