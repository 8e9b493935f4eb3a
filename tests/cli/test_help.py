"""Every command has help with an example, and the README's commands exist and work."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mascot_data.cli import app

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mascot_data", command, "--help"], capture_output=True, text=True, check=True
    )
    assert f"mascot-data {command}" in run.stdout
    assert "Example" in run.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_names_every_command(command: str) -> None:
    assert f"mascot-data {command}" in README


def readme_commands() -> list[str]:
    lines = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
    elsewhere = re.compile(r"SOURCES|server:|Qwen")  # needs what is not here
    return [line for line in lines if line.startswith("mascot-data ") and not elsewhere.search(line)]


def test_the_commands_of_the_readme_run_one_after_the_other(tmp_path: Path) -> None:
    commands = readme_commands()
    assert len(commands) >= 4
    for line in commands:
        arguments = shlex.split(line, comments=True)[1:]
        run = subprocess.run(
            [sys.executable, "-m", "mascot_data", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{line}: {run.stderr}"


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
