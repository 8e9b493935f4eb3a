"""The compose file for a team: no default passwords, everything checked for health, data in volumes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

FILE = Path(__file__).resolve().parents[2] / "annotation" / "compose.yaml"
SECRET = re.compile(r"PASSWORD|SECRET|API_KEY|AUTH")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    return found


def test_every_secret_comes_from_the_environment_and_has_to_be_there(compose: dict[str, Any]) -> None:
    secrets = [
        value
        for service in compose["services"].values()
        for name, value in service["environment"].items()
        if SECRET.search(name)
    ]
    assert len(secrets) >= 5
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", value) for value in secrets)
    named = set(re.findall(r"\$\{([A-Z_]+):\?", FILE.read_text("utf-8")))
    written = set(re.findall(r'"([A-Z_]+)"', FILE.read_text("utf-8").split("docker compose up")[0]))
    assert named == written


def test_what_others_wait_for_tells_whether_it_is_healthy(compose: dict[str, Any]) -> None:
    services = compose["services"]
    waited = {name for service in services.values() for name in service.get("depends_on", {})}
    assert waited == {"argilla", "postgres", "elasticsearch", "redis"}
    assert all("healthcheck" in services[name] for name in waited)
    assert all(
        condition == {"condition": "service_healthy"}
        for service in services.values()
        for condition in service.get("depends_on", {}).values()
    )


def test_data_is_in_named_volumes_and_only_argilla_is_reachable_from_this_machine_alone(
    compose: dict[str, Any],
) -> None:
    services = compose["services"]
    kept = {name: service["volumes"][0].split(":")[0] for name, service in services.items() if "volumes" in service}
    assert set(kept) == {"argilla", "postgres", "elasticsearch", "redis"}
    assert set(kept.values()) == set(compose["volumes"])
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "argilla": ["127.0.0.1:6900:6900"]
    }
    assert compose["networks"]["inside"] == {"internal": True}
    assert [name for name, service in services.items() if "outside" in service["networks"]] == ["argilla"]
    assert all(re.search(r":v?[0-9]", service["image"]) for service in services.values())
