"""What an ordinary install holds: the same items as a checkout, and nothing that a foreign project would notice."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ONE = "batch-exactly-at-the-limit"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    pytest.importorskip("hatchling", reason="building a wheel needs the test extra")
    folder = tmp_path_factory.mktemp("dist")
    ran = _ran([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], ROOT)
    assert ran.returncode == 0, ran.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment with the wheel in it; what the wheel needs is seen, the checkout is not."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    ran = _ran([*pip, "install", "--no-deps", "--no-index", "--ignore-installed", str(wheel)], folder)
    assert ran.returncode == 0, ran.stderr
    return folder / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that knows nothing of this one, with a test of its own."""
    (tmp_path / "test_own.py").write_text("def test_own() -> None:\n    assert True\n", encoding="utf-8")
    return tmp_path


def _ran(command: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HARNESS_", "COV_"))}
    return subprocess.run(command, cwd=folder, env=environ | more, capture_output=True, text=True, check=False)


def _json(command: list[str], folder: Path) -> Any:
    ran = _ran(command, folder)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_wheel_lists_the_items_of_the_checkout(installed: Path, project: Path) -> None:
    checkout = [sys.executable, "-m", "harness", "list", "--json"]
    assert _json([str(installed / "harness"), "list", "--json"], project) == _json(checkout, project)


def test_the_wheel_knows_the_requirements_of_the_checkout(installed: Path, project: Path) -> None:
    words = ["list", "--requirements", "--json"]
    checkout = [sys.executable, "-m", "harness", *words]
    assert _json([str(installed / "harness"), *words], project) == _json(checkout, project)


def test_the_wheel_runs_a_scenario_over_every_wire(installed: Path, project: Path) -> None:
    run = [str(installed / "harness"), "run", ONE, "--format", "json"]
    checkout = [sys.executable, "-m", "harness", "run", ONE, "--format", "json"]
    ours, theirs = _json(run, project), _json(checkout, project)
    assert ours["totals"] == theirs["totals"]
    assert ours["totals"]["pass"] > 0
    assert sorted(ours["transports"]) == sorted(theirs["transports"])


def test_a_foreign_project_collects_nothing_of_ours(installed: Path, project: Path) -> None:
    ran = _ran([str(installed / "python"), "-m", "pytest", "--collect-only", "-q"], project)
    assert ran.returncode == 0, ran.stdout
    items = [line for line in ran.stdout.splitlines() if "::" in line]
    assert items == ["test_own.py::test_own"]


def test_a_hostile_project_does_not_change_a_gate(installed: Path, project: Path) -> None:
    (project / "conftest.py").write_text("raise RuntimeError('this conftest is not for the gate')\n", encoding="utf-8")
    (project / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    run = [str(installed / "harness"), "run", ONE, "--depth", "sim"]
    ran = _ran(run, project, PYTEST_ADDOPTS="--also-none", PYTEST_PLUGINS="no_such_plugin")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_wheel_holds_data_and_no_leftovers(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("contracts/requirements/", "scenarios/budget/", "cassettes/"):
        assert any(name.startswith(f"harness/_data/{part}") for name in names), part
    left = [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".sqlite", ".orig"))]
    assert left == []
