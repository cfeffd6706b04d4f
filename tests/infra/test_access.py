"""Who may do what, and where secrets are: the table of rights is written down here, and nothing else may be given."""

from __future__ import annotations

import re

import pytest

from shared.settings import Settings
from tests.infra.template import INFRA, Deployed, Resource

ROLES = {
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "974c5e8b-45b9-4653-ba55-5f855dd0fb88": "Storage Queue Data Contributor",
    "3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
    "4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
    "acdd72a7-3385-48ef-bd42-f606fba81ae7": "Reader",
}
QUEUES = ("tickets", "reports", "webhooks", "tickets-poison", "reports-poison", "webhooks-poison")
APPS = {
    ("ServicePrincipal", "Storage Blob Data Owner", "storageAccounts"),
    ("ServicePrincipal", "Monitoring Metrics Publisher", "components"),
    *(("ServicePrincipal", "Storage Queue Data Contributor", f"queues/{queue}") for queue in QUEUES),
}
WITH_SECRETS = {
    ("ServicePrincipal", "Key Vault Secrets User", "secrets/provider-api-key"),
    ("ServicePrincipal", "Key Vault Secrets User", "secrets/webhook-secret"),
}
OPERATORS = {
    ("Group", "Storage Queue Data Contributor", "storageAccounts"),
    ("Group", "Reader", "storageAccounts"),
}
# What would open something for who reads it.
LOOKS_SECRET = re.compile(r"listKeys|listConnectionStrings|AccountKey=|SharedAccess|[?&]sig=|://[^/@\s]*:[^/@\s]*@")


@pytest.mark.parametrize(("mode", "rights"), [("public", APPS), ("private", APPS | WITH_SECRETS | OPERATORS)])
def test_rights_are_these_and_no_others(mode: str, rights: set[tuple[str, str, str]]) -> None:
    given = [_right(assignment) for assignment in Deployed(mode).of("Microsoft.Authorization/roleAssignments")]
    assert len(given) == len(set(given))
    assert set(given) == rights


def test_every_right_says_what_kind_of_holder_it_has(deployed: Deployed) -> None:
    # Without it, Azure looks up an identity that is a second old, and fails.
    for assignment in deployed.of("Microsoft.Authorization/roleAssignments"):
        assert assignment["properties"]["principalType"] in {"ServicePrincipal", "Group"}


def test_nothing_deployed_holds_a_secret(deployed: Deployed) -> None:
    assert not LOOKS_SECRET.search(deployed.text)
    assert not any(re.search("secret|key|password|token", name, re.I) for name in deployed.outputs)


def test_secret_settings_are_references_to_the_vault_or_empty(deployed: Deployed) -> None:
    secret = [name.upper() for name, field in Settings.model_fields.items() if not field.repr and not field.alias]
    assert "WEBHOOK_SECRET" in secret
    for name in set(secret) - {"DATABASE_URL"}:
        secret_name = name.lower().replace("_", "-")
        value = deployed.settings[name]
        assert value == "" or f"'@Microsoft.KeyVault(SecretUri={{0}}secrets/{secret_name})'" in value
    assert deployed.settings["DATABASE_URL"].startswith("postgresql://id-")


def test_vault_when_there_is_no_secret_then_none() -> None:
    assert not [resource for resource in Deployed("public").resources if "KeyVault" in resource["type"]]


def test_vault_gives_rights_by_role_and_keeps_what_was_deleted() -> None:
    private = Deployed("private")
    vault = private.one("Microsoft.KeyVault/vaults")["properties"]
    assert vault["enableRbacAuthorization"] is True
    assert vault["enablePurgeProtection"] is True
    assert private.app["properties"]["keyVaultReferenceIdentity"] in private.app["identity"]["userAssignedIdentities"]
    for secret in private.of("Microsoft.KeyVault/vaults/secrets"):
        assert secret["properties"]["value"].startswith("[parameters(")


def test_secret_parameters_are_marked_as_such() -> None:
    source = (INFRA / "main.bicep").read_text(encoding="utf-8")
    secret = {"providerApiKey", "webhookSecret", "webhookSecretPrevious"}
    assert set(re.findall(r"@secure\(\)\nparam (\w+) ", source)) == secret


def _right(assignment: Resource) -> tuple[str, str, str]:
    """(kind of holder, role, what it is on) of an assignment; the last part of its scope says the rest."""
    scope = re.search(r"extensionResourceId\('([^']*)'", assignment["id"])
    place = scope[1] if scope else assignment["id"].partition("/providers/Microsoft.Authorization/")[0]
    kind, name = place.split("/")[-2:]
    properties = assignment["properties"]
    role = ROLES[properties["roleDefinitionId"].rpartition("/")[2].rstrip("')]")]
    return properties["principalType"], role, f"{kind}/{name}" if kind in {"queues", "secrets"} else kind
