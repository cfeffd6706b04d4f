"""What tests read of infra/: the resources that Azure would get, and what the templates and the app say of themselves.

The snapshots hold what the compiler has evaluated, so a rule that holds here holds for what is deployed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

INFRA = Path(__file__).parents[2] / "infra"
MODES = ("public", "private")

#: An address of the storage account, whose last part the compiler leaves to the cloud that is deployed to.
STORAGE_ADDRESS = re.compile(r"\[format\('([^']*)', '([^']*)', environment\(\)\.suffixes\.storage\)\]")

Resource = dict[str, Any]


@dataclass(frozen=True)
class Deployed:
    """One example as it would be deployed."""

    mode: str

    @cached_property
    def text(self) -> str:
        return (INFRA / "examples" / f"{self.mode}.snapshot.json").read_text(encoding="utf-8")

    @cached_property
    def resources(self) -> list[Resource]:
        found: list[Resource] = json.loads(self.text)["predictedResources"]
        return found

    @cached_property
    def outputs(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.text)["outputs"]
        return found

    def of(self, kind: str) -> list[Resource]:
        """The resources of a type, as in "Microsoft.Web/sites"."""
        return [resource for resource in self.resources if resource["type"] == kind]

    def one(self, kind: str) -> Resource:
        (found,) = self.of(kind)
        return found

    @cached_property
    def app(self) -> Resource:
        return self.one("Microsoft.Web/sites")

    @cached_property
    def settings(self) -> dict[str, str]:
        pairs = self.app["properties"]["siteConfig"]["appSettings"]
        return {
            pair["name"]: STORAGE_ADDRESS.sub(
                lambda found: found[1].format(found[2], "core.windows.net"), pair["value"]
            )
            for pair in pairs
        }

    @cached_property
    def queues(self) -> set[str]:
        found = self.of("Microsoft.Storage/storageAccounts/queueServices/queues")
        return {resource["name"].rpartition("/")[2] for resource in found}


def parameters() -> dict[str, str]:
    """The parameters of main.bicep with their defaults as they are written there ('public', 2); "" for one without."""
    source = (INFRA / "main.bicep").read_text(encoding="utf-8")
    found = re.findall(r"^param (\w+) \w+(?: = (.*))?$", source, re.MULTILINE)
    return dict(found)


def allowed(parameter: str) -> set[str]:
    """The values that main.bicep allows for a parameter."""
    source = (INFRA / "main.bicep").read_text(encoding="utf-8")
    found = re.search(rf"@allowed\(\[([^]]*)\]\)\nparam {parameter} ", source)
    assert found, f"{parameter} takes anything"
    return set(re.findall(r"'([^']*)'", found[1]))


def words(value: object) -> Iterator[str]:
    """Every name and every text in a resource."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from words(part)
    elif isinstance(value, list):
        for part in value:
            yield from words(part)
    else:
        yield str(value)
