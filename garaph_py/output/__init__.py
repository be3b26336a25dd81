"""Those who listen to events and show them; they decide nothing."""

from .progress import Progress

__all__ = ["Progress"]
