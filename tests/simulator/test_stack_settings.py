"""What a person can set about the local stack, and what each process of the app then sees."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from simulator.stack.bootstrap import requirement_lines
from simulator.stack.commands import COMMANDS
from simulator.stack.errors import StackError
from simulator.stack.local_settings import app_environment, own_database_url
from simulator.stack.places import LOCAL_SETTINGS_EXAMPLE, ROOT
from simulator.stack.settings import StackSettings

EXAMPLE = {"DATABASE_URL": "postgresql://example", "PROVIDER_API_KEY": "local", "RELAY_SCHEDULE": "* * * * * *"}
ADDRESSES = {"DATABASE_URL": "postgresql://started-here"}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return write_values(tmp_path / "local.settings.json.example", EXAMPLE)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The place of the person's own file, which is not there yet."""
    return tmp_path / "local.settings.json"


def write_values(file: Path, values: Mapping[str, str | None]) -> Path:
    file.write_text(json.dumps({"IsEncrypted": False, "Values": values}))
    return file


def test_settings_when_nothing_is_set_are_the_documented_ports() -> None:
    settings = StackSettings.read({})

    assert (settings.functions_port, settings.provider_port, settings.postgres_port) == (7071, 8300, 5433)
    assert settings.local_dir == ROOT / ".local"


def test_settings_when_empty_count_as_not_set() -> None:
    assert StackSettings.read({"FUNCTIONS_PORT": "", "HOST": ""}).functions_port == 7071


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"FUNCTIONS_PORT": "seven"}, "FUNCTIONS_PORT"),
        ({"POSTGRES_PORT": "70000"}, "POSTGRES_PORT"),
        ({"PROVIDER_PORT": "0"}, "PROVIDER_PORT"),
        ({"PROVIDER_PORT": "7071"}, "the same"),
        ({"HOST": "fnc"}, "HOST"),
    ],
)
def test_settings_when_one_cannot_be_used_then_the_error_names_it(environment: dict[str, str], named: str) -> None:
    with pytest.raises(StackError, match=named):
        StackSettings.read(environment)


def test_environment_without_an_own_file_is_the_example_with_real_addresses(own: Path, example: Path) -> None:
    environment = app_environment({}, ADDRESSES, own=own, example=example)

    assert environment == {**EXAMPLE, "DATABASE_URL": "postgresql://started-here"}


def test_environment_when_the_own_file_is_a_copy_then_real_addresses_win(own: Path, example: Path) -> None:
    write_values(own, EXAMPLE)

    assert app_environment({}, ADDRESSES, own=own, example=example)["DATABASE_URL"] == "postgresql://started-here"
    assert own_database_url(own, example) == ""


def test_environment_when_the_person_changed_a_value_then_it_stays(own: Path, example: Path) -> None:
    write_values(own, {"DATABASE_URL": "postgresql://mine", "EXTRA": "1", "GONE": None})

    environment = app_environment({}, ADDRESSES, own=own, example=example)

    assert environment["DATABASE_URL"] == "postgresql://mine"
    assert environment["EXTRA"] == "1"
    assert "GONE" not in environment
    assert own_database_url(own, example) == "postgresql://mine"


def test_environment_when_the_shell_sets_a_value_then_it_wins_unless_empty(own: Path, example: Path) -> None:
    shell = {"DATABASE_URL": "postgresql://shell", "PROVIDER_API_KEY": ""}

    environment = app_environment(shell, ADDRESSES, own=own, example=example)

    assert environment["DATABASE_URL"] == "postgresql://shell"
    assert environment["PROVIDER_API_KEY"] == "local"


@pytest.mark.parametrize("text", ["not json", "[]", '{"NoValues": {}}', '{"Values": 3}'])
def test_environment_when_a_file_is_broken_then_the_error_names_it(own: Path, example: Path, text: str) -> None:
    own.write_text(text)

    with pytest.raises(StackError, match=r"local\.settings\.json"):
        app_environment({}, {}, own=own, example=example)


def test_example_settings_fit_the_default_ports() -> None:
    values = json.loads(LOCAL_SETTINGS_EXAMPLE.read_text())["Values"]
    settings = StackSettings.read({})

    assert f":{settings.postgres_port}/" in values["DATABASE_URL"]
    assert f":{settings.provider_port}/" in values["PROVIDER_URL"]
    assert values["AzureWebJobsStorage"] == values["JobsQueue"] == "UseDevelopmentStorage=true"


def test_compose_publishes_the_default_ports() -> None:
    published = set(re.findall(r"127\.0\.0\.1:(\d+):", (ROOT / "compose.yaml").read_text()))

    assert published == {"5433", "10000", "10001", "10002"}


def test_make_targets_are_the_commands() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)

    assert phony is not None
    assert set(phony[1].split()) == {"help", *COMMANDS}
    assert f"\n{phony[1]}:\n" in makefile


def test_requirement_lines_follow_included_files(tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text("httpx==1\n")
    (tmp_path / "more.txt").write_text("-r base.txt\npytest==2\n")

    assert requirement_lines(tmp_path / "more.txt") == ["-r base.txt", "pytest==2", "httpx==1"]


def test_pins_of_azurite_carry_hashes_and_no_address() -> None:
    lock = json.loads((ROOT / "simulator/stack/npm/package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}

    assert packages["node_modules/azurite"]["version"] == lock["packages"][""]["dependencies"]["azurite"]
    assert all("integrity" in package and "resolved" not in package for package in packages.values())
