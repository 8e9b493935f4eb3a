"""The package as users get it: a wheel that works far from the checkout, a light base install, public names."""

import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import mascot_data

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def unpacked_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made of the checkout, unpacked; hatchling is there, so nothing is downloaded."""
    pytest.importorskip("hatchling", reason="hatchling makes the wheel: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run_from(wheel: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    command = [sys.executable, "-m", "mascot_data", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_wheel_builds_validates_and_shows_the_sample_far_from_the_checkout(
    unpacked_wheel: Path, tmp_path: Path, sample_build: Path
) -> None:
    where = "import mascot_data; print(mascot_data.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(unpacked_wheel)}
    found = subprocess.run(
        [sys.executable, "-c", where], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(str(unpacked_wheel))
    built = run_from(unpacked_wheel, tmp_path, "build", "--sample")
    assert built.returncode == 0, built.stderr
    for directory in sorted(path.name for path in sample_build.iterdir() if path.is_dir()):
        ours, theirs = tmp_path / "mascot" / directory, sample_build / directory
        assert (ours / "provenance.json").read_bytes() == (theirs / "provenance.json").read_bytes()
        assert run_from(unpacked_wheel, tmp_path, "validate", str(ours)).returncode == 0
    shown = run_from(unpacked_wheel, tmp_path, "show", "mascot/esconv-multiagent", "0")
    assert shown.stdout.startswith("esconv:0")


def test_the_wheel_holds_schemas_and_card_templates(unpacked_wheel: Path) -> None:
    assert (unpacked_wheel / "mascot_data" / "_shared" / "schemas" / "dialogues.schema.json").is_file()
    assert (unpacked_wheel / "mascot_data" / "_shared" / "hub_cards" / "dataset.md.jinja").is_file()


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, mascot_data.cli; print([name for name in ('torch', 'transformers', 'datasets', 'pandas', 'pooch')"
    )
    code += " if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_public_names_are_functions_with_documentation() -> None:
    for name in mascot_data.__all__:
        thing = getattr(mascot_data, name)
        if name != "__version__":
            assert callable(thing), f"{name} must be the function, not the folder of the same name"
            assert thing.__doc__
    importlib.import_module("mascot_data.build.recast")
    assert callable(mascot_data.build)
