"""Whoever sits in a seat, the engines behind it, the parsing of model text. Imports nothing of the gym."""

from simulators.calls import Format, read_hermes, read_json, read_llama, read_openai, strict_json
from simulators.engines import (
    ChatRequest,
    Completion,
    ContentError,
    ContextOverflow,
    Engine,
    EngineError,
    FatalError,
    OpenAIEngine,
    Sampling,
    TokenRequest,
    TransformersEngine,
    TransientError,
    Usage,
    VLLMEngine,
)
from simulators.llm import LLMPlayer, ModelTurn
from simulators.oracle import OraclePlayer
from simulators.parsing import STOP_TOKEN, Turn, parse_turn, split_stop, strip_reasoning
from simulators.player import Action, Observation, Player, Synchronous
from simulators.replay import ReplayUser
from simulators.role_flip import role_flip
from simulators.scripted import ScriptedUser
from simulators.template import ChatTemplate, Template
from simulators.tokens import Segment, segments

__all__ = [
    "STOP_TOKEN",
    "Action",
    "ChatRequest",
    "ChatTemplate",
    "Completion",
    "ContentError",
    "ContextOverflow",
    "Engine",
    "EngineError",
    "FatalError",
    "Format",
    "LLMPlayer",
    "ModelTurn",
    "Observation",
    "OpenAIEngine",
    "OraclePlayer",
    "Player",
    "ReplayUser",
    "Sampling",
    "ScriptedUser",
    "Segment",
    "Synchronous",
    "Template",
    "TokenRequest",
    "TransformersEngine",
    "TransientError",
    "Turn",
    "Usage",
    "VLLMEngine",
    "parse_turn",
    "read_hermes",
    "read_json",
    "read_llama",
    "read_openai",
    "role_flip",
    "segments",
    "split_stop",
    "strict_json",
    "strip_reasoning",
]
