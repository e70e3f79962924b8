"""The tools of both seats by family: `TOOLS` has them all, in the order in which they are advertised."""

from __future__ import annotations

from gym_enterprise.domains.tau3_banking.toolkit import BankTool
from gym_enterprise.domains.tau3_banking.tools import applications, catalogue, customers, discovery

TOOLS: tuple[BankTool, ...] = (
    *customers.TOOLS,
    *discovery.AGENTS_TOOLS,
    *applications.TOOLS,
    *discovery.USERS_TOOLS,
    *catalogue.DISCOVERABLE,
)
