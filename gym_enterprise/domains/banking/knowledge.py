"""The bank's knowledge base: its facts, and the documents that state them; read once a process."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import kb

KNOWLEDGE: Final = kb.load_knowledge_base(Path(kb.__file__).parent / "banking")
"""Documents compiled from the facts, and which document states what."""
FACTS: Final = KNOWLEDGE.facts
"""Every constant and rule of the bank. Code that needs one asks here, so that documents and tools agree."""
