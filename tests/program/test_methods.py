"""What a program's methods in plain Python raise: the error names the line."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError, VerificationError
from tests.support.programs import RING


class Ones(gp.VertexProgram):
    value = np.float64
    sum = gp.add
    total = float

    def init(self):
        return float(1)

    def gather(self, src):
        return src

    def aggregate(self, new, old):
        return new


class Verify(Ones):
    def verify(self, graph, result):
        assert result.values.sum() < 0


class Refuse(Ones):
    def verify(self, graph, result):
        raise VerificationError("the sum is wrong")


class WithoutArguments(Ones):
    def verify(self):
        pass


class Converged(Ones):
    def converged(self, total, n):
        return self._helper(n)

    def _helper(self, n):
        return n / 0


class CheckGraph(Ones):
    def check_graph(self, graph):
        graph.nodes()


class ForGraph(Ones):
    def for_graph(self, graph):
        return int("one")


class Answer(Ones):
    def verify(self, graph, result):
        return False


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Verify, r"^Verify\.verify \(.*test_methods\.py, line 28\): AssertionError.*; raise gp\.errors\.Verification"),
        (
            WithoutArguments,
            r"^WithoutArguments\.verify: TypeError: .*takes 1 positional argument but 3 were given; raise",
        ),
        (
            Converged,
            r"^Converged\.converged \(.*test_methods\.py, line 46\): ZeroDivisionError: .*; correct the program$",
        ),
        (CheckGraph, r"^CheckGraph\.check_graph \(.*, line 51\): AttributeError: .*; raise gp\.errors\.GraphError if"),
        (ForGraph, r"^ForGraph\.for_graph \(.*, line 56\): ValueError: .*; correct the program$"),
    ],
)
def test_an_exception_is_an_error_with_its_line(program, message):
    with pytest.raises(ProgramError, match=message) as caught:
        gp.run(program(), RING, iterations=2, debug=True, verify=program.verify is not None)
    assert caught.value.__cause__ is not None


def test_a_verifier_raises_and_returns_nothing():
    with pytest.raises(
        ProgramError, match=r"^Answer\.verify returns False; raise gp\.errors\.VerificationError if the"
    ):
        gp.run(Answer(), RING, iterations=2, debug=True, verify=True)


def test_errors_of_the_package_pass():
    with pytest.raises(VerificationError, match="the sum is wrong"):
        gp.run(Refuse(), RING, iterations=2, debug=True, verify=True)
