"""The examples in the docstrings of public names give what they say."""

import doctest
import inspect

import pytest

import garaph_py as gp
from tests.support.cases import mostly_full

pytestmark = pytest.mark.slow

PUBLIC = [(home, name) for home in (gp, gp.apps, gp.algorithms) for name in home.__all__]
FOUND = [
    example
    for home, name in PUBLIC
    if not inspect.ismodule(item := getattr(home, name))
    for example in doctest.DocTestFinder().find(item, name, module=inspect.getmodule(item), globs={"gp": gp})
    if example.examples
]
KERNELS = "PenalizedHittingProbability"
"""An example for which kernels are compiled that no other test needs."""


def test_the_programs_the_algorithms_and_the_answer_have_examples():
    assert {*gp.apps.__all__, *gp.algorithms.__all__, "Result"} <= {example.name for example in FOUND}


@pytest.mark.parametrize("example", mostly_full(FOUND, *(it.name for it in FOUND if it.name != KERNELS)))
def test_an_example_gives_what_it_says(example):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.DocTestRunner(optionflags=flags).run(example).failed == 0
