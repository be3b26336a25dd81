"""What is known of earlier calls, by what computed."""

from garaph_py.runtime.past import EVEN_F, Past, Took
from tests.support.calls import known


def test_the_faster_of_a_gpu_alone_and_with_help_counts():
    assert Past().on_gpus(1) is None
    assert known(gpu=0.3).on_gpus(1) == Took(0.3, 0.0)
    assert known(gpu=0.3, hybrid=0.2).on_gpus(1) == Took(0.2, 0.0)
    assert known(hybrid=0.2).on_gpus(1) == Took(0.2, 0.0)
    assert known(gpu=0.3, hybrid=0.2).on_gpus(2) is None


def test_help_is_left_out_only_if_both_ways_are_known():
    assert not Past().are_faster_alone(1)
    assert not known(gpu=0.1).are_faster_alone(1)
    assert known(gpu=0.1, hybrid=0.2).are_faster_alone(1)
    assert not known(gpu=0.2, hybrid=0.1).are_faster_alone(1)
    assert not known(two=0.1, hybrid=0.2).are_faster_alone(2)


def test_whole_calls_count_if_both_are_known():
    alone, both = Took(0.3, 0.1), Took(0.2, 0.3)
    past = Past(took={("gpu", 1): alone, ("hybrid", 1): both})
    assert past.on_gpus(1) == alone
    assert past.are_faster_alone(1)
    past = Past(took={("gpu", 1): alone, ("hybrid", 1): Took(0.2, None)})
    assert past.on_gpus(1) == Took(0.2, None)
    assert not past.are_faster_alone(1)


def test_where_a_gpu_is_expected_to_push():
    assert EVEN_F == 0.44
