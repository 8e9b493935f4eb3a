import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from mascot_data.cli.report import report as command
from mascot_data.errors import DatasetError
from mascot_data.report import report

APP = typer.Typer()
APP.command()(command)


@pytest.fixture
def root(sample_build: Path) -> Path:
    return sample_build / "esconv-multiagent"


def test_it_writes_the_page(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(APP, [str(root), "--output", str(page)])
    assert result.exit_code == 0, result.output
    assert str(page) in result.output
    assert page.read_text("utf-8") == report(root).html


def test_the_page_is_named_after_the_directory(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(APP, [str(root)]).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["esconv-multiagent-report.html"]


def test_json_has_the_numbers(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(APP, [str(root), "--output", str(page), "--json"])
    assert json.loads(result.stdout) == report(root).as_dict() | {"output": str(page)}
    assert page.is_file()


def test_a_missing_directory_ends_with_2(tmp_path: Path) -> None:
    result = CliRunner().invoke(APP, [str(tmp_path / "nowhere")])
    assert isinstance(result.exception, DatasetError)
    assert result.exception.exit_code == 2
    assert "make it with  mascot-data build" in str(result.exception)
