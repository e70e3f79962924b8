"""Long text on a short terminal, a screen at a time; whatever is typed meanwhile is never lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def page(lines: Sequence[str], height: int, show: Callable[[str], None], ask: Callable[[str], str]) -> str:
    """Show lines so that none leaves the screen unread.

    Args:
        lines: What is shown.
        height: Rows of the screen; one of them is for the question.
        show: Shows some lines.
        ask: Asks whether to go on, as `input` does.

    Returns:
        What was typed in place of an answer, which ends the reading; "" where nothing was.
    """
    step = max(height - 1, 1)
    for start in range(0, len(lines), step):
        show("\n".join(lines[start : start + step]))
        told = start + step
        if told >= len(lines):
            break
        try:
            typed = ask(f"-- {told}/{len(lines)}: Enter goes on, q ends --").strip()
        except (EOFError, KeyboardInterrupt):
            show("")
            break
        if typed:
            return "" if typed in ("q", "/q") else typed
    return ""
