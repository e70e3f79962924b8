"""A gym for enterprise conversational agents: two players, one database, an exact reward.

Importing this package registers its environments with Gymnasium, and loads the rest at first use:

    >>> import gymnasium as gym, gym_enterprise
    >>> env = gym.make("Banking-v0")  # doctest: +SKIP
"""

# What type checkers read is `__init__.pyi`.

import importlib

from gym_enterprise.registration import register_envs

__version__ = "0.1.0"

_MODULES = {
    "gym_enterprise.changes": "ChangeSet Diff",
    "gym_enterprise.domain": "Domain",
    "gym_enterprise.episode": "Episode",
    "gym_enterprise.errors": (
        "DataNotFound GraderDisagreement GymEnterpriseError InfrastructureError InvalidAction OutOfTurn "
        "RunChanged RunDamaged RunExists RunLocked SchemaError SimulatorError SnapshotError TaskError "
        "ToolDefinitionError UnknownDomain UnknownTask UsageError WorldError"
    ),
    "gym_enterprise.grading": "Grade replay_reference",
    "gym_enterprise.harness.batch": "Batch Job rollout",
    "gym_enterprise.harness.comparison": "Comparison compare",
    "gym_enterprise.harness.evaluation": "evaluate summarise_run",
    "gym_enterprise.harness.evidence": "quiet_tools",
    "gym_enterprise.harness.metrics": "Summary summarise",
    "gym_enterprise.harness.regrading": "regrade_run",
    "gym_enterprise.harness.results": "Run RunWriter open_run read_run",
    "gym_enterprise.harness.rollout": "Record regrade run_episode",
    "gym_enterprise.image": "WorldImage",
    "gym_enterprise.messages": "Call Message Observation",
    "gym_enterprise.registry": "load_domain register_domain registered_domains",
    "gym_enterprise.seating": "derive_seed",
    "gym_enterprise.snapshot": "Snapshot",
    "gym_enterprise.tasks": "Action Task TaskSet UserScenario View load_tasks",
    "gym_enterprise.tools": "Date Declined Key Money Tool ToolError ToolSpec dollars tool",
    "gym_enterprise.toolset": "Toolset",
    "gym_enterprise.world": "World",
    "kb": (
        "BM25Retriever DenseRetriever Document HybridRetriever KnowledgeBase load_documents "
        "load_knowledge_base"
    ),
    "simulators": (
        "ChatRequest ChatTemplate Completion ContentError ContextOverflow Engine EngineError FatalError "
        "LLMPlayer OpenAIEngine OraclePlayer Player ReplayUser Sampling ScriptedUser Segment Template "
        "TokenRequest TransientError Usage"
    ),
}
_ENVIRONMENTS = ("banking_v0", "tau3_banking_v0")
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted([*_HOMES, *_ENVIRONMENTS, "__version__"])

register_envs()


def __getattr__(name):  # type: ignore[no-untyped-def]
    if name in _ENVIRONMENTS:
        return importlib.import_module(f"gym_enterprise.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__():  # type: ignore[no-untyped-def]
    return [*globals(), *__all__]
