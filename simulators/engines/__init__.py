"""What completes the chats of players that are language models."""

from simulators.engines.engine import ChatRequest, Completion, Engine, Request, Sampling, TokenRequest, Usage
from simulators.engines.errors import ContentError, ContextOverflow, EngineError, FatalError, TransientError
from simulators.engines.openai import OpenAIEngine, Totals
from simulators.engines.transformers import TransformersEngine
from simulators.engines.vllm import VLLMEngine

__all__ = [
    "ChatRequest",
    "Completion",
    "ContentError",
    "ContextOverflow",
    "Engine",
    "EngineError",
    "FatalError",
    "OpenAIEngine",
    "Request",
    "Sampling",
    "TokenRequest",
    "Totals",
    "TransformersEngine",
    "TransientError",
    "Usage",
    "VLLMEngine",
]
