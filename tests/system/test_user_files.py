"""Finding a class in a file of the user's."""

import pytest

from garaph_py.errors import ParameterError
from garaph_py.system.user_files import class_in_file


def test_a_file_that_is_not_python_is_no_missing_one(tmp_path):
    (tmp_path / "edges.tsv").write_text("1 2\n")
    with pytest.raises(ParameterError, match=r"edges\.tsv: the name of a Python file ends in \.py; write file"):
        class_in_file(str(tmp_path / "edges.tsv"), "Edges", object, "vertex program")
