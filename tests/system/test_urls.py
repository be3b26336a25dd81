from pathlib import Path

import pytest

from garaph_py.system.urls import absolute, is_url, shown, url_of


@pytest.mark.parametrize("url", ["s3://bucket/a/graph", "memory://graph", "file:///a/graph", "https://example.org/g"])
def test_a_url_is_itself_also_as_a_path_and_with_slashes_at_its_end(url):
    for form in (url, Path(url), f"{url}/"):
        assert is_url(form)
        assert url_of(form) == absolute(form) == shown(form) == url


@pytest.mark.parametrize("path", ["a/graph", "/a/s3:/graph", "a:/graph", "s3:", "s3://", "", 3, None, b"s3://bucket/g"])
def test_what_is_none(path):
    assert not is_url(path)


def test_a_path_becomes_absolute():
    assert absolute("a") == str(Path.cwd() / "a")
    assert shown(Path("a")) == "a"
