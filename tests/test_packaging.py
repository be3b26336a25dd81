"""The package from a wheel, an sdist and an editable checkout: importable anywhere, with the CUDA sources inside."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import numpy
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SETTINGS = configparser.ConfigParser()
SETTINGS.read(ROOT / "setup.cfg")
PYTHONS = [
    line.split(" :: ")[-1] for line in SETTINGS["metadata"]["classifiers"].splitlines() if "Python :: 3." in line
]
"""The versions of Python that the package says it supports, as ``"3.11"``."""
LOOK = (
    "from garaph_py.executor.gpu.compiler import folder; import garaph_py; print(folder()); print(garaph_py.__file__)"
)


RANK = """
import garaph_py as gp
print(gp.run(gp.apps.PageRank(), gp.read("edges.txt")).top(1)[0][0])
"""


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
    """The folder with an sdist, and a wheel built from that sdist, without a warning."""
    pytest.importorskip("build", reason="needs the package build; pip install -e '.[dev]'")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", checkout / "dist", checkout)
    printed = run(*command, cwd=checkout, env=env)
    assert "warning" not in printed.lower()
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


def use(python: Path, folder: Path) -> None:
    """Run PageRank by the command and from Python, in another folder, where no program is found but the installed."""
    (folder / "edges.txt").write_text("a b\nc b\nb a\n")
    env = {"PATH": str(python.parent), "HOME": str(folder)}
    assert "b" in run(python.parent / "garaph", "run", "PageRank", "edges.txt", cwd=folder, env=env)
    assert run(python, "-W", "error", "-c", RANK, cwd=folder, env=env) == "b\n"


def find_python(version: str) -> str:
    """The first Python of that version on the PATH that runs; the test is skipped if there is none."""
    for folder in os.get_exec_path():
        python = Path(folder, f"python{version}")
        # A launcher, such as pyenv's, may be there without a Python that it can launch.
        if python.exists() and not subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
            return str(python)
    pytest.skip(f"no Python {version} on the PATH")


def test_wheel_holds_the_package_alone(built: Path) -> None:
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = Parser().parsestr(wheel.read("garaph_py-0.1.0.dist-info/METADATA").decode())
        assert wheel.read("garaph_py-0.1.0.dist-info/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    package = (path for path in (ROOT / "garaph_py").rglob("*") if path.suffix in (".py", ".typed"))
    kernels = (path for path in (ROOT / "kernels").glob("*") if path.suffix in (".py", ".cu", ".cuh", ".md"))
    assert names == {
        *(str(path.relative_to(ROOT)) for path in package),
        *(f"garaph_py/kernels/{path.name}" for path in kernels),
    }
    assert metadata["Summary"] == SETTINGS["metadata"]["description"]
    assert metadata["License"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text()


def test_installed_wheel_runs(built: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv")
    install(python, *built.glob("*.whl"))
    use(python, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("version", PYTHONS)
def test_wheel_runs_in_an_empty_environment(built: Path, tmp_path: Path, version: str) -> None:
    """Everything comes from wheels: nothing is compiled by pip, and no compiler of C is found."""
    run(find_python(version), "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-I", "-m", "pip", "install", "-q", "--only-binary", ":all:", *built.glob("*.whl"), cwd=tmp_path)
    use(python, tmp_path)


@pytest.mark.full
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


@pytest.mark.full
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
