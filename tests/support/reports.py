"""Reports in tests: what a user might write in one, and what a reader of its page finds."""

from __future__ import annotations

import html.parser
from collections import Counter

EVIL = "</title><script>document.title = 'evil'</script>&\"'\ud800"


VOID = ("meta",)


class Reader(html.parser.HTMLParser):
    """Collects texts and checks that what is opened is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.cells: list[list[str]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])

    def handle_startendtag(self, tag: str, attributes: object) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1].append(data)
