import numpy as np

from garaph_py.graph.place import Place, pieces_within

PIECES = np.array([(0, 0), (10, 2), (20, 3), (30, 3), (40, 7), (50, 9)])


def test_pieces_are_clipped_to_bounds():
    assert pieces_within(PIECES, (0, 0), (50, 9)).tolist() == PIECES.tolist()
    assert pieces_within(PIECES, (12, 2), (35, 4)).tolist() == [[12, 2], [20, 3], [30, 3], [35, 4]]
    assert pieces_within(PIECES, (5, 1), (5, 1)).tolist() == [[5, 1]]


def test_a_place_is_made_again_from_its_arrays():
    numbers = np.array([1, 4, 5, 9], np.uint32)
    place = Place(1, 10, 99, False, np.array([0, 4, 6, 10]), numbers, np.arange(4), np.arange(4) * 2, PIECES)
    again = Place.of(place.arrays())
    assert (again.part, again.n, again.m, again.directed, again.parts) == (1, 10, 99, False, 3)
    assert again.own == place.own == (1, 3)
    assert np.array_equal(again.pieces, PIECES)
    assert place.nbytes == sum(array.nbytes for name, array in place.arrays().items() if name != "sizes")
