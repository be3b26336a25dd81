"""The structs of kernel arguments: NumPy and C++ must lay them out alike."""

import numpy as np
import pytest

from garaph_py.executor.arguments import Argument
from garaph_py.executor.gpu.task import Layouts, alignment, copy_of, layout

PAIR = np.dtype([("sum", np.float64), ("count", np.int64)])
COUNTS = [Argument(f"count{k}", "u32", "") for k in range(3)]


def test_a_struct_is_aligned_like_its_largest_number():
    assert alignment(PAIR) == 8
    assert alignment(np.dtype([("one", np.uint32), ("pair", PAIR)])) == 8
    assert alignment(np.dtype(np.uint32)) == 4


def test_fields_are_where_cxx_has_them():
    made = layout([*COUNTS[:2], Argument("partial", "Partial", ""), COUNTS[2]], Partial=PAIR)
    assert [offset for _, offset, *_ in made.fields.values()] == [0, 4, 8, 24]
    with pytest.raises(AssertionError):  # NumPy would put the pair after 12 bytes, C++ after 16
        layout([*COUNTS, Argument("partial", "Partial", "")], Partial=PAIR)


def test_a_copy_of_an_argument_is_another_array():
    parameters = np.dtype([("damping", np.float64)], align=True)
    task = np.zeros(1, Layouts(parameters, np.dtype(np.float64)).task)
    task["page"]["tally"] = 7
    copy = copy_of(task)
    assert (copy.dtype, copy.tobytes()) == (task.dtype, task.tobytes())
    copy["page"]["tally"] = 8
    assert (int(task["page"]["tally"][0]), int(copy["page"]["tally"][0])) == (7, 8)
