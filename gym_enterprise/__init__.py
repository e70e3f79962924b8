"""A gym for enterprise conversational agents: two players, one database, an exact reward.

Importing this package registers its environments with Gymnasium:

    >>> import gymnasium as gym, gym_enterprise
    >>> env = gym.make("Banking-v0")  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gym_enterprise.changes import ChangeSet, Diff
from gym_enterprise.domain import Domain
from gym_enterprise.episode import Episode
from gym_enterprise.errors import (
    GraderDisagreement,
    GymEnterpriseError,
    InfrastructureError,
    InvalidAction,
    OutOfTurn,
    SchemaError,
    SimulatorError,
    SnapshotError,
    TaskError,
    ToolDefinitionError,
    UnknownDomain,
    UnknownTask,
    UsageError,
    WorldError,
)
from gym_enterprise.grading import Grade, replay_reference
from gym_enterprise.harness.rollout import Record, regrade, run_episode
from gym_enterprise.image import WorldImage
from gym_enterprise.messages import Call, Message, Observation
from gym_enterprise.registration import register_envs
from gym_enterprise.registry import load_domain, register_domain, registered_domains
from gym_enterprise.seating import derive_seed
from gym_enterprise.snapshot import Snapshot
from gym_enterprise.tasks import Action, Task, TaskSet, UserScenario, View, load_tasks
from gym_enterprise.tools import Date, Declined, Key, Money, Tool, ToolError, ToolSpec, dollars, tool
from gym_enterprise.toolset import Toolset
from gym_enterprise.world import World
from kb import BM25Retriever, Document, load_documents
from simulators import OraclePlayer, Player, ReplayUser, ScriptedUser

if TYPE_CHECKING:
    import gym_enterprise.banking_v0 as banking_v0

__version__ = "0.1.0"

__all__ = [
    "Action",
    "BM25Retriever",
    "Call",
    "ChangeSet",
    "Date",
    "Declined",
    "Diff",
    "Document",
    "Domain",
    "Episode",
    "Grade",
    "GraderDisagreement",
    "GymEnterpriseError",
    "InfrastructureError",
    "InvalidAction",
    "Key",
    "Message",
    "Money",
    "Observation",
    "OraclePlayer",
    "OutOfTurn",
    "Player",
    "Record",
    "ReplayUser",
    "SchemaError",
    "ScriptedUser",
    "SimulatorError",
    "Snapshot",
    "SnapshotError",
    "Task",
    "TaskError",
    "TaskSet",
    "Tool",
    "ToolDefinitionError",
    "ToolError",
    "ToolSpec",
    "Toolset",
    "UnknownDomain",
    "UnknownTask",
    "UsageError",
    "UserScenario",
    "View",
    "World",
    "WorldError",
    "WorldImage",
    "__version__",
    "banking_v0",
    "derive_seed",
    "dollars",
    "load_documents",
    "load_domain",
    "load_tasks",
    "register_domain",
    "registered_domains",
    "regrade",
    "replay_reference",
    "run_episode",
    "tool",
]

register_envs()


def __getattr__(name: str) -> Any:
    if name == "banking_v0":
        return importlib.import_module("gym_enterprise.banking_v0")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
