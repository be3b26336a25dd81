"""The kernel `end_pull` on the GPU of `numpy_gpu`: it ends one of several pulls that were launched together."""

from tests.support.numpy_push import tally_of


def end_pull(driver, context, page):
    """The twin of end_pull.cu, for programs whose totals have 64 bits: each pull takes a microsecond."""
    tally = tally_of(driver, page)
    driver.pulls += 1
    tally["since"] = 1000 * driver.pulls
    kind = driver.layouts.tally["partial"]
    if page["blocks"] and context["total"]:
        driver.array(context["total"], kind, 1)[:] = tally["partial"]


KERNELS = {"end_pull": end_pull}
