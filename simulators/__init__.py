"""Whoever sits in a seat, and the parsing of model text. Imports nothing of the gym."""

from simulators.oracle import OraclePlayer
from simulators.parsing import (
    STOP_TOKEN,
    Turn,
    parse_turn,
    read_hermes,
    read_json,
    role_flip,
    split_stop,
    strict_json,
    strip_reasoning,
)
from simulators.player import Action, Observation, Player, Synchronous
from simulators.replay import ReplayUser
from simulators.scripted import ScriptedUser

__all__ = [
    "STOP_TOKEN",
    "Action",
    "Observation",
    "OraclePlayer",
    "Player",
    "ReplayUser",
    "ScriptedUser",
    "Synchronous",
    "Turn",
    "parse_turn",
    "read_hermes",
    "read_json",
    "role_flip",
    "split_stop",
    "strict_json",
    "strip_reasoning",
]
