"""The CPU kernel."""

from .kernel import CpuKernel

__all__ = ["CpuKernel"]
