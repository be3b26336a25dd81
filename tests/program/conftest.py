"""A module of the user's, which the programs of these tests import."""

from __future__ import annotations

import pytest

from tests.support.programs import HELPERS


@pytest.fixture(scope="module", autouse=True)
def helpers(tmp_path_factory):
    """A module of the user's, beside the program."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "helpers_for_tests.py").write_text(HELPERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield
