from gym_enterprise import banking_v0 as banking_v0
from gym_enterprise import tau3_banking_v0 as tau3_banking_v0
from gym_enterprise.changes import (
    ChangeSet as ChangeSet,
)
from gym_enterprise.changes import (
    Diff as Diff,
)
from gym_enterprise.domain import (
    Domain as Domain,
)
from gym_enterprise.episode import (
    Episode as Episode,
)
from gym_enterprise.errors import (
    DataNotFound as DataNotFound,
)
from gym_enterprise.errors import (
    GraderDisagreement as GraderDisagreement,
)
from gym_enterprise.errors import (
    GymEnterpriseError as GymEnterpriseError,
)
from gym_enterprise.errors import (
    InfrastructureError as InfrastructureError,
)
from gym_enterprise.errors import (
    InvalidAction as InvalidAction,
)
from gym_enterprise.errors import (
    OutOfTurn as OutOfTurn,
)
from gym_enterprise.errors import (
    RunChanged as RunChanged,
)
from gym_enterprise.errors import (
    RunDamaged as RunDamaged,
)
from gym_enterprise.errors import (
    RunExists as RunExists,
)
from gym_enterprise.errors import (
    RunLocked as RunLocked,
)
from gym_enterprise.errors import (
    SchemaError as SchemaError,
)
from gym_enterprise.errors import (
    SimulatorError as SimulatorError,
)
from gym_enterprise.errors import (
    SnapshotError as SnapshotError,
)
from gym_enterprise.errors import (
    TaskError as TaskError,
)
from gym_enterprise.errors import (
    ToolDefinitionError as ToolDefinitionError,
)
from gym_enterprise.errors import (
    UnknownDomain as UnknownDomain,
)
from gym_enterprise.errors import (
    UnknownTask as UnknownTask,
)
from gym_enterprise.errors import (
    UsageError as UsageError,
)
from gym_enterprise.errors import (
    WorldError as WorldError,
)
from gym_enterprise.grading import (
    Grade as Grade,
)
from gym_enterprise.grading import (
    replay_reference as replay_reference,
)
from gym_enterprise.harness.batch import (
    Batch as Batch,
)
from gym_enterprise.harness.batch import (
    Job as Job,
)
from gym_enterprise.harness.batch import (
    rollout as rollout,
)
from gym_enterprise.harness.comparison import (
    Comparison as Comparison,
)
from gym_enterprise.harness.comparison import (
    compare as compare,
)
from gym_enterprise.harness.evaluation import (
    evaluate as evaluate,
)
from gym_enterprise.harness.evaluation import (
    summarise_run as summarise_run,
)
from gym_enterprise.harness.evidence import (
    quiet_tools as quiet_tools,
)
from gym_enterprise.harness.metrics import (
    Summary as Summary,
)
from gym_enterprise.harness.metrics import (
    summarise as summarise,
)
from gym_enterprise.harness.regrading import (
    regrade_run as regrade_run,
)
from gym_enterprise.harness.results import (
    Run as Run,
)
from gym_enterprise.harness.results import (
    RunWriter as RunWriter,
)
from gym_enterprise.harness.results import (
    open_run as open_run,
)
from gym_enterprise.harness.results import (
    read_run as read_run,
)
from gym_enterprise.harness.rollout import (
    Record as Record,
)
from gym_enterprise.harness.rollout import (
    regrade as regrade,
)
from gym_enterprise.harness.rollout import (
    run_episode as run_episode,
)
from gym_enterprise.image import (
    WorldImage as WorldImage,
)
from gym_enterprise.messages import (
    Call as Call,
)
from gym_enterprise.messages import (
    Message as Message,
)
from gym_enterprise.messages import (
    Observation as Observation,
)
from gym_enterprise.registry import (
    load_domain as load_domain,
)
from gym_enterprise.registry import (
    register_domain as register_domain,
)
from gym_enterprise.registry import (
    registered_domains as registered_domains,
)
from gym_enterprise.seating import (
    derive_seed as derive_seed,
)
from gym_enterprise.snapshot import (
    Snapshot as Snapshot,
)
from gym_enterprise.tasks import (
    Action as Action,
)
from gym_enterprise.tasks import (
    Task as Task,
)
from gym_enterprise.tasks import (
    TaskSet as TaskSet,
)
from gym_enterprise.tasks import (
    UserScenario as UserScenario,
)
from gym_enterprise.tasks import (
    View as View,
)
from gym_enterprise.tasks import (
    load_tasks as load_tasks,
)
from gym_enterprise.tools import (
    Date as Date,
)
from gym_enterprise.tools import (
    Declined as Declined,
)
from gym_enterprise.tools import (
    Key as Key,
)
from gym_enterprise.tools import (
    Money as Money,
)
from gym_enterprise.tools import (
    Tool as Tool,
)
from gym_enterprise.tools import (
    ToolError as ToolError,
)
from gym_enterprise.tools import (
    ToolSpec as ToolSpec,
)
from gym_enterprise.tools import (
    dollars as dollars,
)
from gym_enterprise.tools import (
    tool as tool,
)
from gym_enterprise.toolset import (
    Toolset as Toolset,
)
from gym_enterprise.world import (
    World as World,
)
from kb import (
    BM25Retriever as BM25Retriever,
)
from kb import (
    DenseRetriever as DenseRetriever,
)
from kb import (
    Document as Document,
)
from kb import (
    HybridRetriever as HybridRetriever,
)
from kb import (
    KnowledgeBase as KnowledgeBase,
)
from kb import (
    load_documents as load_documents,
)
from kb import (
    load_knowledge_base as load_knowledge_base,
)
from simulators import (
    ChatRequest as ChatRequest,
)
from simulators import (
    ChatTemplate as ChatTemplate,
)
from simulators import (
    Completion as Completion,
)
from simulators import (
    ContentError as ContentError,
)
from simulators import (
    ContextOverflow as ContextOverflow,
)
from simulators import (
    Engine as Engine,
)
from simulators import (
    EngineError as EngineError,
)
from simulators import (
    FatalError as FatalError,
)
from simulators import (
    LLMPlayer as LLMPlayer,
)
from simulators import (
    OpenAIEngine as OpenAIEngine,
)
from simulators import (
    OraclePlayer as OraclePlayer,
)
from simulators import (
    Player as Player,
)
from simulators import (
    ReplayUser as ReplayUser,
)
from simulators import (
    Sampling as Sampling,
)
from simulators import (
    ScriptedUser as ScriptedUser,
)
from simulators import (
    Segment as Segment,
)
from simulators import (
    Template as Template,
)
from simulators import (
    TokenRequest as TokenRequest,
)
from simulators import (
    TransientError as TransientError,
)
from simulators import (
    Usage as Usage,
)

__version__: str
__all__: list[str]
