"""Every exception raised on purpose, grouped by who has to act on it.

======================  =============================================================
who is at fault         classes
======================  =============================================================
the caller              `UsageError`, `UnknownDomain`, `DataNotFound`, `UnknownTask`, `InvalidAction`,
                        `OutOfTurn`, `SnapshotError`, `RunExists`, `RunChanged`, `RunLocked`
the author of a domain  `SchemaError`, `ToolDefinitionError`, `WorldError`
the author of a task    `TaskError`
the model               none: its faults are observations, never exceptions (see `gym_enterprise.dispatch`)
the infrastructure      `InfrastructureError`, `SimulatorError`, `GraderDisagreement`, `RunDamaged`
======================  =============================================================
"""

from __future__ import annotations


class GymEnterpriseError(Exception):
    """Base of all exceptions of this package."""


class UsageError(GymEnterpriseError, ValueError):
    """The caller passed something that the interface does not accept."""


class DataNotFound(UsageError, FileNotFoundError):
    """A domain's data, which does not come with this package, is not where it was looked for."""


class UnknownDomain(UsageError):
    """No domain of that name is registered."""


class UnknownTask(UsageError, KeyError):
    """No split of that name, or no task of that id, is there; a `KeyError` too, as mappings need it."""

    __str__ = Exception.__str__


class InvalidAction(UsageError):
    """The object is not an action (a message, a tool call or a stop); nothing was changed."""


class OutOfTurn(UsageError):
    """A seat acted while the other had the turn, or after the end; nothing was changed."""


class SnapshotError(UsageError):
    """A snapshot does not belong to this episode's domain, image or task."""


class RunExists(UsageError):
    """The folder holds a run, and resuming it was not asked for; nothing was changed."""


class RunChanged(UsageError):
    """A run cannot be resumed with another configuration or other content; nothing was changed."""


class RunLocked(UsageError):
    """Another writer holds the run; nothing was changed."""


class SchemaError(GymEnterpriseError, ValueError):
    """A database schema holds something that would corrupt grading silently."""


class ToolDefinitionError(GymEnterpriseError, TypeError):
    """A function cannot become a tool: its signature or docstring breaks a rule."""


class WorldError(GymEnterpriseError, RuntimeError):
    """A tool asked the database for something that an episode does not allow."""


class TaskError(GymEnterpriseError, ValueError):
    """A task is broken: it does not parse, its reference fails, or its target is the initial state.

    Args:
        rule: The rule that is broken, and how to mend it.
        task_id: The task, when known.
        field: Dotted path of the field, when one is at fault.
        source: File and line, when the task was read from one.
    """

    def __init__(
        self, rule: str, *, task_id: str | None = None, field: str | None = None, source: str | None = None
    ) -> None:
        self.rule, self.task_id, self.field, self.source = rule, task_id, field, source
        where = [source, f"task {task_id!r}" if task_id else None, f"field {field!r}" if field else None]
        super().__init__(": ".join([part for part in where if part] + [rule]))

    def located(self, source: str | None) -> TaskError:
        """Return the same error with the place that the task was read from, if it lacks one."""
        return TaskError(self.rule, task_id=self.task_id, field=self.field, source=self.source or source)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_task_error, (self.rule, self.task_id, self.field, self.source)


def _rebuild_task_error(rule: str, task_id: str | None, field: str | None, source: str | None) -> TaskError:
    return TaskError(rule, task_id=task_id, field=field, source=source)


class InfrastructureError(GymEnterpriseError, RuntimeError):
    """Something around the episode broke; the episode is unscored, never 0."""


class SimulatorError(InfrastructureError):
    """The simulated partner did not produce a usable action."""


class GraderDisagreement(InfrastructureError):
    """The two graders differ: a bug in this package; please report it with the task and the actions."""


class RunDamaged(GymEnterpriseError, ValueError):
    """A results file holds something that its writer never writes; nothing was changed."""
