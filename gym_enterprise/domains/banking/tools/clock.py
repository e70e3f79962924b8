"""The bank's clock."""

from __future__ import annotations

from gym_enterprise.tools import tool
from gym_enterprise.world import World


@tool()
def current_date(world: World) -> dict[str, str]:
    """Tell today's date and the time of the conversation, for counting days and months."""
    return {"today": world.today, "time": world.now[11:16]}
