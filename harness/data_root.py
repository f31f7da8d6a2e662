"""Where the project's data (contracts, scenarios, cassettes) lies: inside an installed wheel, or in the checkout."""

from pathlib import Path


def data_root() -> Path:
    """The folder that holds `contracts/` and `scenarios/`: `harness/_data` when installed, else the checkout."""
    package = Path(__file__).resolve().parent
    bundled = package / "_data"
    return bundled if bundled.is_dir() else package.parent
