"""Find the folders that lie beside the package in a checkout and inside it in an installed wheel."""

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path


def shared_folder(name: str) -> Traversable:
    """Return ``schemas`` or ``hub_cards``, from the wheel or else from the checkout."""
    inside = resources.files("mascot_data").joinpath("_shared", name)
    if inside.is_dir():
        return inside
    return Path(__file__).resolve().parent.parent / name
