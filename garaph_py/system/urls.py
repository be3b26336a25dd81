"""URLs where paths of files may stand."""

from __future__ import annotations

import os
import re

URL = re.compile(r"([a-z][a-z0-9+]+):/+(?=[^/])", re.IGNORECASE)
"""How a URL begins. `Path` makes one slash of two."""
LOCAL = "file"
"""The protocol of URLs that begin with three slashes: the third is the root of the file system."""


def is_url(path: object) -> bool:
    """Whether `path` is a URL, also one that was made a `Path`."""
    return isinstance(path, (str, os.PathLike)) and URL.match(str(path)) is not None


def url_of(path: str | os.PathLike[str]) -> str:
    """The URL in a string or a `Path`, without slashes at its end."""
    text = str(path)
    found = URL.match(text)
    assert found is not None
    protocol = found[1].lower()
    return f"{protocol}:{'///' if protocol == LOCAL else '//'}{text[found.end() :]}".rstrip("/")


def shown(path: str | os.PathLike[str]) -> str:
    """A path as the user wrote it: of a URL, `Path` has kept one slash of two."""
    return url_of(path) if is_url(path) else os.fspath(path)


def absolute(path: str | os.PathLike[str]) -> str:
    """The absolute path of a file or directory; a URL as it is."""
    return url_of(path) if is_url(path) else os.path.abspath(path)
