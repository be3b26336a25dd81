"""When a checkpoint is due, by count, by time, or by its cost."""

import pytest

from garaph_py.checkpoint.policy import SHARE, Every, Measured, is_due, parse_every
from garaph_py.errors import ParameterError


def measured(iterations=10, seconds=10.0, elapsed=100.0, spent=0.0, expected=0.1):
    return Measured(iterations, seconds, elapsed, spent, expected)


def test_when_a_checkpoint_is_due():
    assert is_due(Every(iterations=10), measured())
    assert not is_due(Every(iterations=11), measured())
    assert is_due(Every(seconds=10.0), measured())
    assert not is_due(Every(seconds=10.1), measured())
    assert is_due(Every(), measured())
    assert not is_due(Every(), measured(expected=0.3))
    assert not is_due(Every(), measured(spent=1.95))
    assert not is_due(Every(), measured(expected=30.0))


@pytest.mark.parametrize("cost", [0.001, 0.05, 2.0, 40.0])
def test_by_default_checkpoints_take_two_percent_at_most(cost):
    """The bound holds whatever cost the first checkpoint was expected to have; an iteration takes a second."""
    now, last, spent, expected, made = 0.0, 0.0, 0.0, 1.0, 0
    for _ in range(20_000):
        now += 1.0
        if is_due(Every(), Measured(1, now - last, now, spent, expected)):
            last, expected = now, cost
            now, spent, made = now + cost, spent + cost, made + 1
        assert spent <= SHARE * now + (cost if made == 1 else 1e-9)
    assert made * cost > 0.4 * SHARE * now or made > 10_000


def test_how_often_is_a_count_or_a_time():
    assert parse_every(None) == Every()
    assert parse_every(7) == parse_every("7") == Every(iterations=7)
    assert parse_every("1.5 min") == Every(seconds=90.0)
    assert parse_every("2h") == Every(seconds=7200.0)
    assert parse_every("page") == Every(iterations=1, pages=True)
    for bad in (0, -1, True, 2.5, "", "0", "0s", "10 parsecs", [1]):
        with pytest.raises(ParameterError, match="checkpoint_every="):
            parse_every(bad)
