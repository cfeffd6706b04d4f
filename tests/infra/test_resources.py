"""The rules that everything deployed has to keep."""

from __future__ import annotations

import re

import pytest

from tests.infra.template import INFRA, Deployed, words

# What Azure refuses on Flex Consumption (error 51021), from the reference of app settings.
FORBIDDEN_SETTINGS = {
    *("ENABLE_ORYX_BUILD", "SCM_DO_BUILD_DURING_DEPLOYMENT", "FUNCTIONS_EXTENSION_VERSION"),
    *("FUNCTIONS_WORKER_RUNTIME", "FUNCTIONS_WORKER_RUNTIME_VERSION", "FUNCTIONS_WORKER_PROCESS_COUNT"),
    *("FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED", "FUNCTIONS_MAX_HTTP_CONCURRENCY"),
    *("WEBSITE_CONTENTAZUREFILECONNECTIONSTRING", "WEBSITE_CONTENTSHARE", "WEBSITE_CONTENTOVERVNET"),
    *("WEBSITE_DNS_SERVER", "WEBSITE_MAX_DYNAMIC_APPLICATION_SCALE_OUT", "WEBSITE_RUN_FROM_PACKAGE"),
    *("WEBSITE_SKIP_CONTENTSHARE_VALIDATION", "WEBSITE_VNET_ROUTE_ALL", "WEBSITE_TIME_ZONE", "TZ"),
}
FORBIDDEN_PROPERTIES = {
    *("alwaysOn", "containerSize", "dnsConfiguration", "ftpsState", "linuxFxVersion", "windowsFxVersion"),
    *("netFrameworkVersion", "use32BitWorkerProcess", "functionAppScaleLimit", "preWarmedInstanceCount"),
    *("vnetRouteAllEnabled", "vnetContentShareEnabled", "vnetImagePullEnabled", "isReserved", "isXenon"),
}
QUEUES = {"tickets", "reports", "webhooks", "tickets-poison", "reports-poison", "webhooks-poison"}
SQL = "Microsoft.DBforPostgreSQL/flexibleServers"
WITHOUT_TAGS = {
    "Microsoft.Authorization/roleAssignments",
    "Microsoft.Consumption/budgets",
    "Microsoft.Insights/diagnosticSettings",
}


def test_app_has_nothing_that_flex_consumption_refuses(deployed: Deployed) -> None:
    assert not deployed.settings.keys() & FORBIDDEN_SETTINGS
    assert not set(words(deployed.app["properties"])) & FORBIDDEN_PROPERTIES
    assert deployed.one("Microsoft.Web/serverfarms")["sku"] == {"name": "FC1", "tier": "FlexConsumption"}


def test_app_speaks_https_only_and_knows_no_password(deployed: Deployed) -> None:
    assert deployed.app["properties"]["httpsOnly"] is True
    policies = deployed.of("Microsoft.Web/sites/basicPublishingCredentialsPolicies")
    allowed = {policy["name"].rpartition("/")[2]: policy["properties"]["allow"] for policy in policies}
    assert allowed == {"ftp": False, "scm": False}


def test_tls_is_1_2_or_newer_everywhere(deployed: Deployed) -> None:
    site = deployed.app["properties"]["siteConfig"]
    assert {site["minTlsVersion"], site["scmMinTlsVersion"]} <= {"1.2", "1.3"}
    assert _account(deployed)["minimumTlsVersion"] in {"TLS1_2", "TLS1_3"}
    assert _configurations(deployed)["ssl_min_protocol_version"] in {"TLSv1.2", "TLSv1.3"}


def test_storage_opens_to_no_key_and_shows_nothing_to_strangers(deployed: Deployed) -> None:
    account = _account(deployed)
    assert account["allowSharedKeyAccess"] is False
    assert account["allowBlobPublicAccess"] is False
    assert account["supportsHttpsTrafficOnly"] is True
    container = deployed.one("Microsoft.Storage/storageAccounts/blobServices/containers")
    assert container["properties"]["publicAccess"] == "None"


def test_storage_has_every_queue_and_the_container_of_the_package(deployed: Deployed) -> None:
    assert deployed.queues == QUEUES
    container = deployed.one("Microsoft.Storage/storageAccounts/blobServices/containers")
    package = deployed.app["properties"]["functionAppConfig"]["deployment"]["storage"]
    assert f"'{container['name'].rpartition('/')[2]}'" in package["value"]
    assert package["authentication"]["type"] == "UserAssignedIdentity"


def test_database_takes_entra_tokens_only(deployed: Deployed) -> None:
    server = deployed.one(SQL)["properties"]
    assert (server["authConfig"]["activeDirectoryAuth"], server["authConfig"]["passwordAuth"]) == (
        "Enabled",
        "Disabled",
    )
    assert not {"administratorLogin", "administratorLoginPassword"} & server.keys()
    assert _configurations(deployed)["azure.extensions"] == "vector"
    assert [admin["properties"]["principalType"] for admin in deployed.of(f"{SQL}/administrators")]


def test_telemetry_takes_entra_tokens_only(deployed: Deployed) -> None:
    assert deployed.one("Microsoft.Insights/components")["properties"]["DisableLocalAuth"] is True
    workspace = deployed.one("Microsoft.OperationalInsights/workspaces")["properties"]
    assert workspace["features"]["disableLocalAuth"] is True
    assert workspace["workspaceCapping"]["dailyQuotaGb"] > 0


def test_private_mode_leaves_no_door_to_the_data_open() -> None:
    private = Deployed("private")
    for resource in (*private.of("Microsoft.Storage/storageAccounts"), *private.of("Microsoft.KeyVault/vaults")):
        assert resource["properties"]["publicNetworkAccess"] == "Disabled"
        assert resource["properties"]["networkAcls"]["defaultAction"] == "Deny"
    assert private.one(SQL)["properties"]["network"]["publicNetworkAccess"] == "Disabled"
    assert not private.of(f"{SQL}/firewallRules")
    assert private.app["properties"]["virtualNetworkSubnetId"].endswith("/subnets/app")
    reached = {
        group
        for endpoint in private.of("Microsoft.Network/privateEndpoints")
        for connection in endpoint["properties"]["privateLinkServiceConnections"]
        for group in connection["properties"]["groupIds"]
    }
    assert reached == {"blob", "queue", "postgresqlServer", "vault"}
    assert len(private.of("Microsoft.Network/privateEndpoints/privateDnsZoneGroups")) == len(reached)
    assert len(private.of("Microsoft.Network/privateDnsZones/virtualNetworkLinks")) == len(reached)


def test_public_mode_opens_the_database_to_azure_alone_and_makes_no_network() -> None:
    public = Deployed("public")
    rules = [rule["properties"] for rule in public.of(f"{SQL}/firewallRules")]
    assert rules == [{"startIpAddress": "0.0.0.0", "endIpAddress": "0.0.0.0"}]
    assert not [resource for resource in public.resources if resource["type"].startswith("Microsoft.Network/")]


def test_app_subnet_is_delegated_to_flex_consumption_and_large_enough() -> None:
    subnets = Deployed("private").one("Microsoft.Network/virtualNetworks")["properties"]["subnets"]
    (app,) = [subnet["properties"] for subnet in subnets if subnet["name"] == "app"]
    assert [part["properties"]["serviceName"] for part in app["delegations"]] == ["Microsoft.App/environments"]
    assert int(app["addressPrefix"].partition("/")[2]) <= 27


def test_everything_that_can_carry_tags_tells_its_environment(deployed: Deployed) -> None:
    # Parts of a resource ("Microsoft.Web/sites/config") have none of their own.
    whole = [resource for resource in deployed.resources if resource["type"].count("/") == 1]
    tagged = [resource for resource in whole if resource["type"] not in WITHOUT_TAGS]
    bare = [resource["type"] for resource in tagged if "azd-env-name" not in resource.get("tags", {})]
    assert not bare


@pytest.mark.parametrize("resource", ["azureServices", "administrator", "settings", "database", "serverLog"])
def test_database_server_is_changed_one_thing_after_the_other(resource: str) -> None:
    # The server does one thing at a time; what comes while it is busy fails the deployment.
    chain = ["azureServices", "administrator", "settings", "database", "serverLog"]
    source = (INFRA / "modules" / "database.bicep").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^resource (\w+) .*? = (.*?)(?=^(?:resource|output|//|@)|\Z)", source, re.S | re.M))
    assert set(blocks) == {"server", *chain}
    before = chain[chain.index(resource) - 1] if resource != chain[0] else None
    waits_for = re.findall(r"dependsOn: \[(\w+)\]", blocks[resource])
    assert waits_for == ([before] if before else [])
    assert resource != "settings" or re.search(r"@batchSize\(1\)\nresource settings", source)


def _account(deployed: Deployed) -> dict[str, object]:
    properties: dict[str, object] = deployed.one("Microsoft.Storage/storageAccounts")["properties"]
    return properties


def _configurations(deployed: Deployed) -> dict[str, str]:
    found = deployed.of(f"{SQL}/configurations")
    return {part["name"].rpartition("/")[2]: part["properties"]["value"] for part in found}
