"""The package from a wheel, an sdist and an editable checkout: importable anywhere, with the CUDA sources inside."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).parent.parent
LOOK = (
    "from garaph_py.executor.gpu.compiler import folder; import garaph_py; print(folder()); print(garaph_py.__file__)"
)


def run(*command: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tracked folders: building writes into the tree."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("garaph_py", "kernels", "tests", "scripts", "docs", "data"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "CONTRIBUTING.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def built(checkout: Path) -> Path:
    """The folder with an sdist, and a wheel built from that sdist."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", checkout / "dist", checkout, cwd=checkout)
    return checkout / "dist"


def looked(python: object, cwd: Path) -> tuple[Path, Path]:
    kernels, package = run(python, "-I", "-c", LOOK, cwd=cwd).split("\n")[:2]
    return Path(kernels), Path(package).parent


def environment(path: Path) -> Path:
    """A virtual environment that sees this one's dependencies; its Python."""
    venv.create(path, system_site_packages=False, with_pip=False)
    python = path / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=path).strip())
    (site / "dependencies.pth").write_text(f"{Path(numpy.__path__[0]).parent}\n")
    return python


def install(python: Path, *what: object) -> None:
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-build-isolation",
        "--ignore-installed", *what, cwd=python.parent)  # fmt: skip


@pytest.mark.parametrize("suffix", [".whl", ".tar.gz"])
def test_wheel_and_sdist_hold_the_cuda_sources(built: Path, tmp_path: Path, suffix: str) -> None:
    (archive,) = built.glob(f"*{suffix}")
    python = environment(tmp_path / "venv")
    install(python, archive)
    kernels, package = looked(python, tmp_path)
    assert package.is_relative_to(tmp_path / "venv")
    assert kernels == package / "kernels"
    assert {path.name for path in kernels.iterdir()} >= {path.name for path in (ROOT / "kernels").glob("*.[cm]*")}
    site = package.parent
    assert not any((site / name).exists() for name in ("kernels", "tests", "scripts", "data", "docs"))
    assert (python.parent / "garaph").exists()


def test_editable_checkout_finds_the_cuda_sources(checkout: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv")
    install(python, "-e", checkout)
    kernels, package = looked(python, tmp_path)
    assert package == checkout / "garaph_py"
    assert kernels == checkout / "kernels"


def test_plain_checkout_finds_the_cuda_sources(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {LOOK}"
    kernels = run(sys.executable, "-I", "-c", code, cwd=tmp_path).split("\n")[0]
    assert Path(kernels) == ROOT / "kernels"
