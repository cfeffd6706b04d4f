"""The list of functions on the console, as `func start` prints it (functions-host D7). Pure."""

from collections.abc import Iterable, Iterator

from simulator.host.functions import Function, HttpTrigger
from simulator.host.web.router import make_path


def list_functions(functions: Iterable[Function], base_url: str, route_prefix: str) -> Iterator[str]:
    """HTTP functions first, then the others, then what is disabled, one line each."""
    enabled = [function for function in functions if not function.is_disabled]
    for function in sorted(enabled, key=lambda function: not isinstance(function.trigger, HttpTrigger)):
        trigger = function.trigger
        if isinstance(trigger, HttpTrigger):
            methods = f"[{','.join(sorted(trigger.methods))}] " if trigger.methods else ""
            yield f"\t{function.name}: {methods}{base_url}/{make_path(route_prefix, trigger.route)}"
        else:
            yield f"\t{function.name}: {trigger.type}"
    for function in functions:
        if function.is_disabled:
            yield f"Function {function.name} is disabled."
