"""What a run gives its user: the result, progress, and files with a trace or a report. Nothing here affects a run."""

from .progress import Progress

__all__ = ["Progress"]
