"""The policy: a causal language model that is loaded to be trained, and how it is kept and saved.

What it thinks of tokens is in `train.logprobs`.
"""

from __future__ import annotations

import copy
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gym_enterprise.errors import UsageError
from simulators.template import source
from train.config import Lora
from train.logprobs import plain_model
from train.ranks import leads, like, whole


def load_policy(
    path: str | Path,
    *,
    dtype: str | torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    lora: Lora | None = None,
    seed: int = 0,
    gradient_checkpointing: bool = False,
) -> Any:
    """Load a model to train, without dropout, so that every ratio is 1 before the first update.

    Args:
        path: A folder, a name on the model hub, or a .gguf file, whose weights are unpacked.
        dtype: Of the weights. Small updates vanish in bfloat16: weights that are trained, unlike those under
            adapters, should be float32, with `torch.autocast` where that is faster.
        device: Where it goes.
        lora: Adapters to train, in float32 (Hu et al. 2021); None, or a rank of 0, trains all weights.
        seed: Of the first weights of adapters.
        gradient_checkpointing: Hold the activations between layers only, and compute the others again.

    Raises:
        UsageError: There is no such model, or the adapters do not fit it.
    """
    with torch.random.fork_rng(devices=[]):
        try:
            model = _read(path, dtype)
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(f"there is no model at {str(path)!r} that can be loaded: {error}") from error
        if lora is not None and lora.rank:
            model = _adapted(model, lora, seed)
    if gradient_checkpointing:
        plain = plain_model(model)
        renamed = getattr(plain, "activation_checkpointing_enable", None)  # by later releases
        (renamed or plain.gradient_checkpointing_enable)({"use_reentrant": False})
    _stop_dropout(model)
    return model.to(device)


def _read(path: str | Path, dtype: str | torch.dtype) -> Any:
    import transformers
    from transformers import AutoModelForCausalLM

    folder, arguments = source(path)
    options: dict[str, Any] = {"dtype": dtype, **arguments}
    if arguments and hasattr(transformers, "GgufConfig"):  # later releases may leave the weights packed
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    model, told = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, **options)
    if missing := sorted(told["missing_keys"]):
        raise ValueError(f"it lacks {len(missing)} weights, such as {missing[0]!r}")
    if not arguments:
        return model
    config = copy.deepcopy(model.config)  # of a .gguf file, which refuses to be saved
    vars(config).pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    plain.load_state_dict(model.state_dict())
    plain.generation_config = model.generation_config
    return plain


def _stop_dropout(model: Any) -> None:
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, float) and ("drop" in name or isinstance(module, nn.Dropout)):
                setattr(module, name, 0.0)


def _adapted(model: Any, lora: Lora, seed: int) -> Any:
    from peft import LoraConfig, get_peft_model

    settings: dict[str, Any] = {
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "target_modules": lora.targets if isinstance(lora.targets, str) else list(lora.targets),
        "bias": "none",
        "task_type": "CAUSAL_LM",
    }
    torch.default_generator.manual_seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # it reads what transformers has renamed
            adapted = get_peft_model(model, LoraConfig(**settings))
    except ValueError as error:
        raise UsageError(f"{lora} does not fit the model: {error}") from error
    ends = model.get_input_embeddings(), model.get_output_embeddings()
    if ends[0].weight is ends[1].weight and any(hasattr(end, "base_layer") for end in ends):
        raise UsageError(
            f"{lora} adapts the embeddings or the head, which share their weights in this model, so it could "
            "not be saved as a plain one: name other layers"
        )
    return adapted


def weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of the plain model that this one comes to, adapters merged, for saving and engines.

    Names are those of `transformers`; tied weights come once. Where weights are sharded, all ranks have to
    go through them together, and each gets them whole.
    """
    plain = plain_model(model)
    for name, value in _once(plain):
        if ".lora_" in name:
            continue
        layer, inner, rest = name.rpartition(".base_layer.")
        full = whole(value)
        if inner and rest == "weight":
            full = full + whole(plain.get_submodule(layer).get_delta_weight("default"))
        yield f"{layer}.{rest}" if inner else name, full.to(value.dtype)


def policy_state(model: Any, keep: bool = True) -> dict[str, Tensor]:
    """Return copies, on the CPU, of what training changes: trained parameters, and buffers.

    Where weights are sharded, all ranks have to ask together; each that is to `keep` them gets them whole.
    """
    state: dict[str, Tensor] = {}
    for name, value in _changing(model).items():
        full = whole(value)
        state |= {name: full.to("cpu", copy=True)} if keep else {}
    return state


def load_policy_state(model: Any, state: Mapping[str, Tensor]) -> None:
    """Put back what `policy_state` returned, into a model that was loaded in the same way.

    Raises:
        UsageError: It is of another model; nothing was changed.
    """
    own = _changing(model)
    kinds = [{(name, one.shape, one.dtype) for name, one in each.items()} for each in (own, state)]
    if other := sorted(name for name, *_ in kinds[0] ^ kinds[1]):
        raise UsageError(
            f"the state is of another model: {len(other)} parts are in one of the two only, or of another "
            f"shape or dtype, such as {other[0]!r}; load the model as the run did that saved the state"
        )
    for name, value in own.items():
        value.detach().copy_(like(state[name], value))


def save_policy(model: Any, tokenizer: Any, folder: str | Path) -> None:
    """Save a folder that `AutoModelForCausalLM` and vLLM load, adapters merged; these in adapter/ as well.

    It is there whole or not at all. Where weights are sharded, all ranks have to call this; the first writes.

    Raises:
        UsageError: There is something of that name.
    """
    merged = {name: one.cpu() for name, one in weights(model) if leads()}
    trained = None if plain_model(model) is model else policy_state(model, leads())
    if not leads():
        return
    folder, part = Path(folder), Path(f"{folder}.part")
    if folder.exists():
        raise UsageError(f"{folder} is there already: remove it, or save under another name")
    shutil.rmtree(part, ignore_errors=True)
    plain_model(model).save_pretrained(part, state_dict=merged)
    tokenizer.save_pretrained(part)
    if trained is not None:
        _save_adapter(model, trained, part / "adapter")
    part.rename(folder)


def _save_adapter(model: Any, trained: dict[str, Tensor], folder: Path) -> None:
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    config = copy.copy(model.peft_config["default"])
    config.inference_mode = True
    config.save_pretrained(folder)
    adapter = get_peft_model_state_dict(model, trained, save_embedding_layers=False)
    save_file(adapter, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def _changing(model: Any) -> dict[str, Tensor]:
    items = _once(model)
    return {name: one for name, one in items if one.requires_grad or not isinstance(one, nn.Parameter)}


def _once(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield all parameters and saved buffers; one of several names comes by the first."""
    seen: set[int] = set()
    for name, value in model.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value
