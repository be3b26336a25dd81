"""The CPU kernel."""

from .executor import CpuKernel

__all__ = ["CpuKernel"]
