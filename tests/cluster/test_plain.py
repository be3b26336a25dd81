import numpy as np
import pytest

from garaph_py.cluster.plain import pack, unpack
from garaph_py.errors import ClusterError

msgpack = pytest.importorskip("msgpack")  # which Dask brings
pytestmark = pytest.mark.slow  # the quick tests do without Dask


VALUES = [
    3, "text", None, True, 2.5, (1, ("a", None)), {"names": 1, "x": (2,)}, {3: "by part"}, np.arange(5),
    np.float32(1.5), np.zeros((2, 3)), np.empty(0, np.int32), np.zeros(2000),
    np.zeros(3, np.dtype([("a", "i4"), ("b", "f8")], align=True)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(type(value).__name__))
def test_data_comes_back(value):
    sent = msgpack.unpackb(msgpack.packb(pack(value, lambda array: array.tobytes())), strict_map_key=False)
    got = unpack(sent)
    if isinstance(value, np.ndarray | np.generic):
        assert (got.dtype, got.shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(got, value)
    else:
        assert got == value


def test_types_come_back():
    assert unpack(pack(np.float32)) is np.float32
    assert unpack(pack(np.dtype(np.int16))) == np.dtype(np.int16)


@pytest.mark.parametrize(
    "data",
    [
        {"array": b"12345", "dtype": "'<i8'", "shape": [1]},
        {"array": b"12345678", "dtype": "'<i8'", "shape": [2]},
        {"array": b"12345678", "dtype": "'|O'", "shape": [1]},
        {"array": b"12345678", "dtype": "__import__('os')", "shape": [1]},
        {"names": ["a"], "values": []},
        {"other": 1},
    ],
)
def test_invalid_data_is_refused(data):
    with pytest.raises(ClusterError, match="a worker's message is invalid"):
        unpack(data)
