"""The examples in the programs' docstrings give what they say."""

import doctest

import pytest

import garaph_py as gp

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", gp.apps.__all__)
def test_an_example_gives_what_it_says(name):
    example = doctest.DocTestParser().get_doctest(getattr(gp.apps, name).__doc__, {"gp": gp}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
