"""Which function a request is for: the first that fits in order of name, method and all; nothing is 405 (C1)."""

from collections.abc import Iterable
from dataclasses import dataclass

from simulator.host.functions import Function, HttpTrigger, InvalidFunctions
from simulator.host.web.template import InvalidTemplate, Template


@dataclass(frozen=True)
class Match:
    """A function and the values its route gives it."""

    function: Function
    trigger: HttpTrigger
    route_values: dict[str, str]


class Router:
    """The routes of all HTTP functions, the disabled ones too. Raises InvalidFunctions."""

    def __init__(self, functions: Iterable[Function], prefix: str) -> None:
        self._routes: list[tuple[Function, HttpTrigger, Template]] = []
        errors: dict[str, str] = {}
        for function in functions:
            if isinstance(function.trigger, HttpTrigger):
                try:
                    template = Template(make_path(prefix, function.trigger.route))
                    self._routes.append((function, function.trigger, template))
                except InvalidTemplate as error:
                    errors[function.name] = f"the route '{function.trigger.route}' is invalid: {error}"
        if errors:
            raise InvalidFunctions(errors)

    def find(self, method: str, path: str) -> Match | None:
        """The first function in order of name whose route and methods fit the decoded path."""
        for function, trigger, template in self._routes:
            if trigger.methods and method not in trigger.methods:
                continue
            values = template.match(path)
            if values is not None:
                return Match(function, trigger, values)
        return None


def make_path(prefix: str, route: str) -> str:
    """A function's route below host.json's routePrefix, which may be empty."""
    return "/".join(part for part in (prefix.strip("/"), route.lstrip("/")) if part)
