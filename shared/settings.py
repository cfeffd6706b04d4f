"""Every setting of the app, read once from environment variables of the same names in upper case."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from shared.database_url import is_readable, suits_a_token

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
CountOrNone = Annotated[int, Field(ge=0, le=1_000_000_000)]  # 0 = no limit
QueueName = Annotated[
    str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", min_length=3, max_length=56)
]  # room for "-poison"

REFERENCE = "@Microsoft.KeyVault("

ManagedIdentity = Annotated[Literal["managedidentity"], BeforeValidator(str.lower)]  # the host takes either case


class SettingsError(Exception):
    """The environment cannot be used; the message names each setting at fault and says why."""


class Settings(BaseModel):
    """The app's settings; durations in seconds. local.settings.json.example shows every one with a local value."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    database_url: str = Field(min_length=1, repr=False)
    database_auth: Literal["password", "entra"] = "password"
    database_pool_size: Count = 10
    database_prepare: bool = False

    # Either a connection string, or what the host's trigger knows as an identity-based connection.
    jobs_queue: str = Field(default="", repr=False, alias="JobsQueue")
    queue_service_uri: str = Field(default="", alias="JobsQueue__queueServiceUri", validate_default=True)
    queue_credential: ManagedIdentity | None = Field(default=None, alias="JobsQueue__credential")
    queue_client_id: str | None = Field(default=None, alias="JobsQueue__clientId")
    azure_client_id: str | None = Field(default=None, validate_default=True)

    ticket_queue: QueueName = "tickets"
    report_queue: QueueName = "reports"
    webhook_queue: QueueName = "webhooks"

    provider_url: str = Field(pattern=r"^https?://")
    provider_api_key: str = Field(default="", repr=False)
    provider_key_header: Literal["authorization", "api-key"] = "authorization"
    provider_chat_model: str = "gpt-4o-mini"
    provider_embedding_model: str = "text-embedding-3-small"
    provider_timeout: Seconds = 10

    provider_chat_rpm: CountOrNone = 100
    provider_chat_tpm: CountOrNone = 100_000
    provider_chat_burst: Count | None = None
    lane_pause_max_seconds: Seconds = 3600

    queue_max: CountOrNone = 500
    rate_limit_per_minute: Annotated[int, Field(ge=0, le=10_000)] = 30
    idempotency_ttl_hours: Annotated[float, Field(gt=0, le=8760, allow_inf_nan=False)] = 168

    job_max_attempts: Annotated[int, Field(ge=1, le=100)] = 5
    job_lease_seconds: Seconds = 30
    retry_base_seconds: Seconds = 2
    retry_cap_seconds: Seconds = 60
    run_slice_seconds: Seconds = 1200
    drain_seconds: Seconds = 5

    report_parallelism: Annotated[int, Field(ge=1, le=32)] = 4
    reports_max_running: Annotated[int, Field(ge=1, le=100)] = 2
    approval_ttl_hours: Annotated[float, Field(gt=0, le=8760, allow_inf_nan=False)] = 72
    webhook_secret: str = Field(default="", repr=False)
    webhook_secret_previous: str = Field(default="", repr=False)
    webhook_allow_private: bool = False

    applicationinsights_connection_string: str = ""  # an address and no secret, where only identities may write
    log_format: Literal["text", "json"] = "text"

    @model_validator(mode="before")
    @classmethod
    def by_field_name(cls, environment: object) -> object:
        """Map DATABASE_URL to database_url, and take names and values as the Functions host does: in any case, with `:`
        for `__`, and an empty one as not set; a reference to Key Vault that nobody could follow is none, either."""
        if not isinstance(environment, Mapping):
            return environment
        fields = {
            (field.alias or name).upper(): field.alias or name  # Windows knows no case
            for name, field in cls.model_fields.items()
        }
        named = {key.upper().replace(":", "__"): value for key, value in environment.items() if _is_set(value)}
        return {fields.get(name, name): value for name, value in named.items()}

    @field_validator("database_url")
    @classmethod
    def can_be_read(cls, url: str) -> str:
        if not is_readable(url):
            raise PydanticCustomError("unreadable", "neither a postgresql:// URL nor key=value pairs")
        return url

    @field_validator("database_auth")
    @classmethod
    def suits_the_url(cls, auth: str, info: ValidationInfo) -> str:
        if auth == "entra" and "database_url" in info.data and not suits_a_token(info.data["database_url"]):
            raise PydanticCustomError(
                "mix", "entra wants a DATABASE_URL with a user, with sslmode=verify-full, and without a password"
            )
        return auth

    @field_validator("queue_service_uri")
    @classmethod
    def is_the_one_way_to_the_queues(cls, uri: str, info: ValidationInfo) -> str:
        if bool(uri) == bool(info.data.get("jobs_queue")):
            raise PydanticCustomError("mix", "set either this, for an identity, or JobsQueue, a connection string")
        if uri and not uri.startswith("https://"):
            raise PydanticCustomError("mix", "an https:// address: a token goes nowhere else")
        return uri

    @field_validator("queue_credential", "queue_client_id")
    @classmethod
    def goes_with_its_address(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("queue_service_uri") == "":
            raise PydanticCustomError("mix", "means something only together with JobsQueue__queueServiceUri")
        return value

    @field_validator("azure_client_id")
    @classmethod
    def is_the_one_identity(cls, client_id: str | None, info: ValidationInfo) -> str | None:
        has_both = info.data.get("database_auth") == "entra" and info.data.get("queue_service_uri")
        if has_both and client_id != info.data.get("queue_client_id"):
            raise PydanticCustomError("mix", "the app has one identity: the same as JobsQueue__clientId, or neither")
        return client_id

    @property
    def client_id(self) -> str | None:
        """Of the app's identity; None = the system-assigned one."""
        return self.queue_client_id if self.queue_service_uri else self.azure_client_id

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The settings of `environment` (default: this process's). Raises SettingsError."""
        try:
            return cls.model_validate(dict(os.environ if environment is None else environment))
        except ValidationError as exc:
            names = {name: field.alias or name.upper() for name, field in cls.model_fields.items()}
            problems = [
                f"{names.get(str(error['loc'][0]), error['loc'][0]) if error['loc'] else 'settings'}: {error['msg']}"
                for error in exc.errors(include_input=False, include_url=False)
            ]
            raise SettingsError("; ".join(problems)) from None


def unresolved(environment: Mapping[str, str] | None = None) -> list[str]:
    """The names of those that still are the reference which Azure should have put a secret for."""
    given = os.environ if environment is None else environment
    return sorted(name for name, value in given.items() if value.startswith(REFERENCE))


def _is_set(value: object) -> bool:
    return value != "" and not (isinstance(value, str) and value.startswith(REFERENCE))
