"""The desk at which a person sits: what its seat sees on a terminal, and the line that is typed there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from gym_enterprise.cli.demo import describe_row
from gym_enterprise.cli.outcomes import outcome_text
from gym_enterprise.cli.typed import COMMANDS, completions, read_line, tool_text
from gym_enterprise.envs.rendering import printable, verdict_text
from gym_enterprise.episode import Episode
from gym_enterprise.errors import UsageError
from gym_enterprise.messages import Message, Seat
from gym_enterprise.tools import ToolSpec

COLOURS = {"agent": "cyan", "user": "green"}
KEYS = (
    "Keys in a terminal: Tab completes tools, arguments and their values; the arrows bring back earlier "
    "lines; Ctrl-_ takes back typing, Ctrl-C drops the line, Ctrl-D leaves. What was done stays done."
)


class Desk:
    """Shows one seat of an episode to a person, and asks what it does.

    Args:
        episode: The episode.
        seat: The person's seat; nothing of the other one is shown but what it said, until the end.
    """

    def __init__(self, episode: Episode, seat: Seat) -> None:
        self._episode, self._seat = episode, seat
        self._console = Console(highlight=False)
        self._shown = 1  # the system text is told by /task

    # -- showing --------------------------------------------------------------------------------------

    def open(self) -> None:
        """Say who plays what, and what a person can type."""
        self._console.rule(
            f"{self._episode.domain.name}: task {self._episode.task.id}, you are the {self._seat}"
        )
        if self._seat == "user":
            self._print(self._messages()[0].content)
        else:
            self._print("You serve the customer by the bank's rules: /task shows what you were told.", "dim")
        self._print("Type what you say; /tools lists what you can do, /help all that can be typed.", "dim")

    def show_new(self) -> None:
        """Show what this seat has seen since the last time, without what the person typed itself."""
        for message in self._messages()[self._shown :]:
            if message.role != self._seat:
                self._show(message)
        self._shown = len(self._messages())

    def tell(self, fault: str) -> None:
        """Tell a fault in one line."""
        self._print(" ".join(fault.split()), "red")

    def close(self) -> None:
        """Show how it ended: the grade, what changed, and how that differs from what was wanted."""
        episode = self._episode
        self._console.rule("the end")
        grade = episode.grade()
        self._print(verdict_text(episode), "bold green" if grade.reward == 1.0 else "bold red")
        changed = episode.world.changes().to_list()
        self._print("The database:" if changed else "The database: no change")
        for row in changed:
            self._print(f"  {describe_row(row)}")
        differs = [
            (kind, row) for kind in ("missing", "extra", "changed") for row in grade.diff.get(kind, ())
        ]
        self._print("Against what was wanted:" if differs else "Against what was wanted: no difference")
        for kind, row in differs:
            self._print(f"  {kind}: {describe_row(row)}")
        self._print(
            f"All about this task: gym-enterprise show {episode.task.id} --domain {episode.domain.name}",
            "dim",
        )

    # -- asking ---------------------------------------------------------------------------------------

    def ask(self) -> dict[str, Any] | None:
        """Ask until there is an action; None when the person leaves."""
        while True:
            try:
                line = self._line()
            except KeyboardInterrupt:  # drops what was typed
                self._console.print()
                continue
            except EOFError:
                self._console.print()
                return None
            if not line.strip():
                continue
            try:
                typed = read_line(line, self._tools())
            except UsageError as error:
                self.tell(str(error))
                continue
            if typed.action is not None:
                return typed.action
            if typed.command == "quit":
                return None
            self._answer(typed.command, typed.about)

    def _line(self) -> str:
        if not sys.stdin.isatty():
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            self._print(f"{self._seat}> {line.rstrip()}", "dim")
            return line
        with _completing(lambda before, word: completions(before, word, self._tools())):
            return input(f"{self._seat}> ")

    def _answer(self, command: str, about: str) -> None:
        if command == "help":
            lines = [
                "TEXT: say it",
                "/TOOL name=value ...: call a tool; values with blanks in quotes, or JSON",
            ]
            lines += [f"/{name}: {told}" for name, told in COMMANDS.items()]
            self._print("\n".join([*lines, KEYS]))
        elif command == "task":
            self._page(self._messages()[0].content, prose=True)
        elif command == "history":
            for message in self._messages()[1:]:
                self._show(message)
        else:
            self._tell_tools(about)

    def _tell_tools(self, name: str) -> None:
        tools = self._tools()
        if not name:
            table = Table.grid(padding=(0, 2))
            for tool in tools.values():
                table.add_row(Text(f"/{tool.name}", "bold"), Text(tool.description.splitlines()[0]))
            self._console.print(table if tools else "You have no tools.")
        elif name.removeprefix("/") in tools:
            self._print(tool_text(tools[name.removeprefix("/")]))
        else:
            self.tell(f"there is no tool {name!r}: /tools lists them")

    # -- inside ---------------------------------------------------------------------------------------

    def _messages(self) -> tuple[Message, ...]:
        messages: tuple[Message, ...] = self._episode.observe(self._seat)["messages"]
        return messages

    def _tools(self) -> dict[str, ToolSpec]:
        """Return the tools that can be called now: what the seat is told of, and what was opened since."""
        toolset = self._episode.domain.toolset(self._seat)
        found = {spec.name: spec for spec in toolset.advertised(self._episode.task)}
        opened = map(toolset.get, self._episode.dispatcher.tools(self._seat))
        return found | {tool.name: tool.spec for tool in opened if tool is not None}

    def _show(self, message: Message) -> None:
        if message.role == "tool":
            style = "" if message.result["ok"] else "red"
            self._page(outcome_text(message.result), style, _is_document(message))
            return
        text = message.content
        if message.call is not None:
            given = json.dumps(message.call.arguments, ensure_ascii=False)
            text = f"{text} > {message.call.name} {given}".strip()
        self._print(f"{message.role}: {text}", COLOURS.get(message.role, ""))

    def _page(self, text: str, style: str = "", prose: bool = False) -> None:
        """Print text; in a terminal, prose as Markdown, and what is longer than the screen page by page."""
        plain = printable(text)
        markdown = prose and self._console.is_terminal
        shown = Markdown(plain, code_theme="bw") if markdown else Text(plain, style)
        if self._console.is_terminal and sys.stdin.isatty() and text.count("\n") >= self._console.height - 2:
            with self._console.pager():
                self._console.print(shown)
            return
        self._console.print(shown, soft_wrap=not self._console.is_terminal)

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(Text(printable(text), style), soft_wrap=not self._console.is_terminal)


def _is_document(message: Message) -> bool:
    return message.call is not None and message.call.name == "kb_read" and bool(message.result["ok"])


@contextmanager
def _completing(complete: Callable[[str, str], list[str]]) -> Iterator[None]:
    """Let Tab complete a line, where Python has the library for it (not on Windows)."""
    try:
        import readline
    except ImportError:
        yield
        return

    def completer(word: str, number: int) -> str | None:
        found = complete(readline.get_line_buffer()[: readline.get_begidx()], word)
        return found[number] if number < len(found) else None

    before = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(completer)
    readline.set_completer_delims(" \t")
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before[0])
        readline.set_completer_delims(before[1])
