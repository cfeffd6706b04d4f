"""The azure-functions library's own converters, by the kind of binding."""

from typing import Any

from azure.functions import get_binding_registry


def find_converter(kind: str) -> Any:
    """The converter that the genuine worker uses for `httpTrigger`, `queue` and so on."""
    registry: Any = get_binding_registry()  # type: ignore[no-untyped-call] # the library leaves it untyped
    return registry.get(kind)
