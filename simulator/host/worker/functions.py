"""Which functions the app has: its module is imported, its one FunctionApp found, each function checked (D2)."""

import importlib
import inspect
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from azure.functions import Function, FunctionRegister

from simulator.host.worker.signature import Signature, check_signature


class AppError(Exception):
    """The app cannot be indexed; the text says why."""


@dataclass(frozen=True)
class AppFunction:
    """One function of the app, as a run needs it."""

    name: str
    call: Callable[..., Any]
    is_async: bool
    directory: str
    bindings: list[dict[str, Any]]
    has_retry_policy: bool
    signature: Signature

    def describe(self) -> dict[str, Any]:
        """What the host has to know: the name, and the bindings as function.json would have them."""
        return {"name": self.name, "bindings": self.bindings, "has_retry_policy": self.has_retry_policy}


def load_functions() -> dict[str, AppFunction]:
    """Import the app and index it, by name. Raises AppError, and whatever the app's module raises."""
    module_name = Path(os.environ.get("PYTHON_SCRIPT_FILE_NAME") or "function_app.py").stem
    app = _find_app(importlib.import_module(module_name))
    indexed = [_index(function) for function in app.get_functions()]
    if not indexed:
        raise AppError(f"no job functions found: {module_name}.py registers none")
    return {function.name: function for function in indexed}


def _find_app(module: ModuleType) -> FunctionRegister:
    apps = [value for value in vars(module).values() if isinstance(value, FunctionRegister)]
    if not apps:
        raise AppError(f"could not find a top-level function app in {module.__name__}.py")
    if len(apps) > 1:
        raise AppError(f"more than one top-level function app is defined in {module.__name__}.py")
    return apps[0]


def _index(function: Function) -> AppFunction:
    name = function.get_function_name() or ""
    call = function.get_user_function()
    bindings = [json.loads(raw) for raw in function.get_raw_bindings()]
    try:
        signature = check_signature(call, bindings)
    except (TypeError, ValueError, NameError) as error:
        raise AppError(f"cannot load the {name} function: {error}") from error
    return AppFunction(
        name=name,
        call=call,
        is_async=inspect.iscoroutinefunction(call),
        directory=str(Path(inspect.getfile(call)).parent),
        bindings=bindings,
        has_retry_policy=function.get_settings_dict("retry_policy") is not None,
        signature=signature,
    )
