"""Invalid files for every reader: random, changed, and cut off."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.io.read import read

HOSTILE = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
NUMBERS = st.sampled_from([b"0", b"-1", b"2", b"3", b"7", b"4294967296", b"281474976710657", b"9223372036854775808"])
NOISE = st.one_of(
    st.binary(max_size=80),
    st.lists(st.one_of(NUMBERS, st.sampled_from([b" ", b" ", b"\n", b"\n", b"\r\n", b"%", b"\t", b"1e9", b"-", b"x"])))
    .map(b"".join),
)  # fmt: skip


@st.composite
def changed(draw, whole):
    """`whole` with some bytes replaced, inserted or left out."""
    contents = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(contents)))
        byte = draw(st.one_of(st.binary(max_size=1), st.sampled_from([b"9", b" ", b"\n", b"-", b"\0", b"\xff"])))
        contents[place : place + draw(st.integers(0, 2))] = byte
    return bytes(contents)


def read_or_typed_error(path, contents, **options):
    """The graph in a file of these contents; None if that ends in an error that names the file."""
    path.write_bytes(contents)
    try:
        graph = read(path, threads=1, **options)
    except FormatError as error:
        if str(error).startswith(str(path)):
            return None
        raise
    assert graph._arrays.in_edges.offsets[-1] == graph.m
    assert not graph.m or int(graph._arrays.in_edges.neighbours.max()) < graph.n
    return graph


def cut_everywhere(path, whole, same, last=b""):
    """Read `whole` cut off at every length, but within its `last` number: an error, or a graph that is the `same`."""
    for length in range(len(whole)):
        if len(whole.rstrip()) - len(last) < length < len(whole.rstrip()):
            continue  # what is left of that number is a number, too
        graph = read_or_typed_error(path, whole[:length])
        assert graph is None or same(graph), f"cut at {length}: {graph}"
