"""What a program's `converged` may return, and what it is shown of a total."""

import numpy as np
import pytest

from garaph_py.errors import ProgramError
from garaph_py.program.converged import has_converged, readable
from tests.support.numpy_gpu import HUB, Hops


@pytest.mark.parametrize("answer", [True, False, np.True_, np.False_])
def test_converged_returns_a_truth_value(answer):
    assert has_converged(program_with(answer), np.array([3]), 5) is bool(answer)
    assert not has_converged(program_with(answer), None, 5)


@pytest.mark.parametrize("answer", [None, 0, 1.5, "no"])
def test_another_answer_of_converged_is_refused(answer):
    with pytest.raises(ProgramError, match=f"Hops.converged returns {answer!r}; return True to end the run"):
        has_converged(program_with(answer), np.array([3]), 5)


def test_a_total_is_shown_as_a_number_or_an_object():
    """It may be kept: it does not change with the total."""
    total = np.array([3], np.int32)
    number = readable(total)
    assert (number, type(number)) == (3, int)
    fields = np.array([(1, 0.5)], [("change", np.int64), ("rank", np.float64)])
    kept = readable(fields)
    fields["rank"] = 9
    assert (kept.change, kept.rank) == (1, 0.5)


def test_a_field_of_a_total_may_have_any_name():
    """Also one that NumPy's records and tuples use for methods."""
    names = "sum", "max", "size", "count", "item", "self"
    shown = readable(np.array([tuple(range(6))], [(name, np.int64) for name in names]))
    assert [getattr(shown, name) for name in names] == list(range(6))


def program_with(answer):
    """A program whose `converged` returns `answer`."""
    program = Hops(HUB)
    program.converged = lambda total, n: answer
    return program
