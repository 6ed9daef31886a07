"""Writes `nn_names.json`: the names of `torch.nn` and its modules, with their arguments.

Run it with an interpreter that has PyTorch: `python tests/golden/names/nn_names.py`. An argument is
its name, how it goes, and its default where it has one, as text.
"""

import inspect
import json
import types
from pathlib import Path
from typing import Any

import torch

MODULES = (
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "nn.utils.parametrize",
    "nn.utils.parametrizations",
)
#: What stands in these modules but belongs to others.
STRANGE = {
    "Tensor",
    "bind",
    "copy_method_params",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "OpaqueBase",
    "get_swap_module_params_on_conversion",
    "is_opaque_reference_type",
    "is_traceable_wrapper_subclass",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "boolean_dispatch",
    "assert_int_or_pair",
    "factory_kwargs",
    "ScalingType",
    "SwizzleType",
    "PackedSequence_",
}


def arguments(value: Any) -> list[list[str]] | None:
    """The arguments of a class or function, if Python knows them."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    rows = []
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            return None
        row = [p.name, "name" if p.kind is p.KEYWORD_ONLY else "position"]
        rows.append(
            row if p.default is p.empty else [*row, repr(getattr(p.default, "__name__", p.default))]
        )
    return rows


def main() -> None:
    """Writes the file."""
    found: dict[str, Any] = {}
    for module in MODULES:
        home = torch
        for part in module.split("."):
            home = getattr(home, part)
        found[module] = {
            name: arguments(value)
            for name, value in sorted(vars(home).items())
            if not name.startswith("_")
            and callable(value)
            and not isinstance(value, types.ModuleType)
            and (module == "nn" or name not in STRANGE)
            and name != "factory_kwargs"
            and "torch" in str(getattr(value, "__module__", "torch") or "torch")
        }
    text = {"torch": torch.__version__, "names": found}
    Path(__file__).with_suffix(".json").write_text(json.dumps(text) + "\n")


if __name__ == "__main__":
    main()
