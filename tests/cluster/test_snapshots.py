from garaph_py.cluster.snapshots import common


def test_newest_superstep_that_all_have():
    assert common([{0: [3, 5], 1: [3]}, {1: [5], 2: [3, 5]}], 3) == 5
    assert common([{0: [3, 5]}, {1: [3], 2: [3, 5]}], 3) == 3
    assert common([{0: [3, 5]}, {2: [3, 5]}], 3) is None
