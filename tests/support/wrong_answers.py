"""Wrong answers of algorithms, which their verifiers must refute."""

from dataclasses import replace

import pytest

import garaph_py as gp


def changed(result, vertex, value):
    """The result with another value at an internal id."""
    values = result.values.copy()
    values[vertex] = value
    return replace(result, values=values)


def assert_refuted(name, graph, answer, problem, **arguments):
    """The verifier of the function of this name says that the answer has this problem."""
    with pytest.raises(gp.errors.VerificationError, match=f"^{name}: {problem}"):
        gp.check(getattr(gp.algorithms, name), graph, answer, **arguments)
