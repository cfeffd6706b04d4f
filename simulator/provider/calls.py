"""What a caller sent, checked as strictly as a provider does and reduced to what the simulator looks at."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from simulator.provider.tasks import Task, recognise_chat

Endpoint = Literal["chat", "embeddings"]
_CHARACTERS_PER_TOKEN = 4


class BadCall(Exception):
    """The request is not one the API takes: answered with 400 and `param` naming the field."""

    def __init__(self, message: str, param: str | None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `user` is the text to answer, `inputs` the texts to embed, `mark` whose work it is."""

    endpoint: Endpoint
    task: Task
    model: str
    user: str = ""
    wants_json: bool = False
    max_tokens: int | None = None
    inputs: tuple[str, ...] = ()
    dimensions: int = 384
    wants_base64: bool = False
    prompt_tokens: int = 1
    mark: str | None = None


_Body = TypeVar("_Body", bound=BaseModel)


class _Part(BaseModel):
    text: str = ""


class _Message(BaseModel):
    role: str
    content: str | list[_Part] | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"] = "text"


class _Marks(BaseModel):
    user: str | None = None
    metadata: dict[str, Any] | None = None

    def mark(self, header: str | None) -> str | None:
        job_id = (self.metadata or {}).get("job_id")
        return header or (None if job_id is None else str(job_id)) or self.user


class _ChatBody(_Marks):
    model: str
    messages: Annotated[list[_Message], Field(min_length=1)]
    response_format: _Format = _Format()
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stream: Literal[False] | None = None


class _EmbeddingsBody(_Marks):
    model: str
    input: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1, max_length=2048)]
    dimensions: Annotated[int, Field(ge=1, le=4096)] = 384
    encoding_format: Literal["float", "base64"] = "float"


def read_chat(body: bytes, mark: str | None = None) -> Call:
    """Read the body of `POST /v1/chat/completions`; `mark` is the caller's `X-Client-Request-Id`.

    Raises BadCall for anything the API would refuse, streaming included.
    """
    asked = _parse(_ChatBody, body)
    system = "\n".join(message.text() for message in asked.messages if message.role in ("system", "developer"))
    user = "\n".join(message.text() for message in asked.messages if message.role not in ("system", "developer"))
    wants_json = asked.response_format.type != "text"
    return Call(
        endpoint="chat",
        task=recognise_chat(system, wants_json),
        model=asked.model,
        user=user,
        wants_json=wants_json,
        max_tokens=asked.max_completion_tokens or asked.max_tokens,
        prompt_tokens=count_tokens(system) + count_tokens(user),
        mark=asked.mark(mark),
    )


def read_embeddings(body: bytes, mark: str | None = None) -> Call:
    """Read the body of `POST /v1/embeddings`; raises BadCall for anything the API would refuse."""
    asked = _parse(_EmbeddingsBody, body)
    inputs = (asked.input,) if isinstance(asked.input, str) else tuple(asked.input)
    return Call(
        endpoint="embeddings",
        task="embed",
        model=asked.model,
        inputs=inputs,
        dimensions=asked.dimensions,
        wants_base64=asked.encoding_format == "base64",
        prompt_tokens=sum(count_tokens(text) for text in inputs),
        mark=asked.mark(mark),
    )


def count_tokens(text: str) -> int:
    """Estimate tokens the way the callers do: four characters each, at least one."""
    return max(1, -(-len(text) // _CHARACTERS_PER_TOKEN))


def _parse(model: type[_Body], body: bytes) -> _Body:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"]) or None
        raise BadCall(f"Invalid request: {first['msg']}.", param) from error
