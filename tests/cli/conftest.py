"""A shell that the tests of the command line share."""

from collections.abc import Iterator

import pytest

from tests.cli.commands import Shell


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Run commands quickly, each in its own process."""
    running = Shell(tmp_path_factory.mktemp("shell"))
    yield running
    running.close()
