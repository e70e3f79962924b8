"""The desk at which a person sits: what its seat sees on a terminal, and the line that is typed there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from gym_enterprise.cli.demo import describe_row
from gym_enterprise.cli.outcomes import outcome_text
from gym_enterprise.cli.pager import page
from gym_enterprise.cli.typed import completions, help_text, read_line, tool_text
from gym_enterprise.envs.rendering import printable, verdict_text
from gym_enterprise.episode import Episode
from gym_enterprise.errors import UsageError
from gym_enterprise.messages import Message, Seat
from gym_enterprise.tools import ToolSpec

COLOURS = {"agent": "cyan", "user": "green"}
KEYS = (
    "Keys in a terminal: Tab completes tools, arguments, and values and ids that you have seen; the arrows "
    "bring back earlier lines; Ctrl-_ takes back typing, Ctrl-C drops the line, Ctrl-D leaves. What is too "
    "long for the screen comes a page at a time: Enter goes on, q ends, and anything else is your next line. "
    "What was done stays done."
)


class Desk:
    """Shows one seat of an episode to a person, and asks what it does.

    Args:
        episode: The episode.
        seat: The person's seat; nothing of the other one is shown but what it said, until the end.
        source: What the command line calls the episode's domain.
    """

    def __init__(self, episode: Episode, seat: Seat, source: str) -> None:
        self._episode, self._seat = episode, seat
        self._console = Console(highlight=False)
        self._source = source
        self._shown = 1  # the system text is told by /task
        self._typed = ""  # in place of an answer to the pager

    # -- showing --------------------------------------------------------------------------------------

    def open(self) -> None:
        """Say who plays what, and what a person can type."""
        self._console.rule(
            f"{self._episode.domain.name}: task {self._episode.task.id}, you are the {self._seat}"
        )
        if self._seat == "user":
            self._print(self._messages()[0].content)
        else:
            self._print("You serve the customer by the rules that you were given: /task shows them.", "dim")
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
            f"All about this task: gym-enterprise show {episode.task.id} --domain {self._source}",
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
        if self._typed:
            line, self._typed = self._typed, ""
            return line
        if not sys.stdin.isatty():
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            self._print(f"{self._seat}> {line.rstrip()}", "dim")
            return line
        with _completing(lambda before, word: completions(before, word, self._tools(), self._seen())):
            return input(f"{self._seat}> ")

    def _answer(self, command: str, about: str) -> None:
        if command == "help":
            self._display(Text(f"{help_text(self._tools())}\n{KEYS}"))
        elif command == "task":
            self._page(self._messages()[0].content, prose=True)
        elif command == "history":
            self._display(Group(*(self._told(message) for message in self._messages()[1:])))
        else:
            self._tell_tools(about.removeprefix("/"))

    def _tell_tools(self, name: str) -> None:
        tools = self._tools()
        if not name:
            table = Table.grid(padding=(0, 2))
            for tool in tools.values():
                table.add_row(Text(f"/{tool.name}", "bold"), Text(tool.description.splitlines()[0]))
            self._display(table if tools else Text("You have no tools."))
        elif name in tools:
            self._display(Text(printable(tool_text(tools[name]))))
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

    def _seen(self) -> dict[str, list[str]]:
        """Return the words that this seat's results gave under each name, the latest first."""
        seen: dict[str, dict[str, None]] = {}
        for message in reversed(self._messages()):
            if message.role == "tool" and message.result["ok"]:
                for name, word in _words(message.result["result"]):
                    seen.setdefault(name, {})[word] = None
        return {name: list(words) for name, words in seen.items()}

    def _show(self, message: Message) -> None:
        if message.role != "tool":
            self._display(self._told(message))
        elif message.call is not None and message.call.name == "unlock_tool" and message.result["ok"]:
            name = str(message.call.arguments["name"])
            self._display(Text(printable("Unlocked:\n" + tool_text(self._tools()[name]))))
        else:
            style = "" if message.result["ok"] else "red"
            self._page(outcome_text(message.result), style, _is_document(message))

    def _told(self, message: Message) -> Text:
        if message.role == "tool":
            return Text(printable(outcome_text(message.result)), "" if message.result["ok"] else "red")
        text = message.content
        if message.call is not None:
            given = json.dumps(message.call.arguments, ensure_ascii=False)
            text = f"{text} > {message.call.name} {given}".strip()
        return Text(printable(f"{message.role}: {text}"), COLOURS.get(message.role, ""))

    def _page(self, text: str, style: str = "", prose: bool = False) -> None:
        """Show text; in a terminal, prose as Markdown."""
        plain = printable(text)
        markdown = prose and self._console.is_terminal
        self._display(Markdown(plain, code_theme="bw") if markdown else Text(plain, style))

    def _display(self, shown: RenderableType) -> None:
        """Show something; in a terminal, what is longer than the screen page by page."""
        if not (self._console.is_terminal and sys.stdin.isatty()):
            self._console.print(shown, soft_wrap=not isinstance(shown, Table))
            return
        with self._console.capture() as captured:
            self._console.print(shown)
        height = self._console.height
        self._typed = page(captured.get().splitlines(), height, print, _ask) or self._typed

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(Text(printable(text), style), soft_wrap=not self._console.is_terminal)


def _is_document(message: Message) -> bool:
    return message.call is not None and message.call.name == "kb_read" and bool(message.result["ok"])


def _words(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a result whose values are one word, with their names."""
    if isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and item and not set(item) & set(" \t\n'\"\\"):
                yield name, item
            elif isinstance(item, list | dict):
                yield from _words(item)


def _ask(question: str) -> str:
    """Ask as `input` does, and leave no answer among the lines that the arrows bring back."""
    answer = input(question)
    try:
        import readline
    except ImportError:
        return answer
    if answer and readline.get_current_history_length():
        readline.remove_history_item(readline.get_current_history_length() - 1)
    return answer


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
    if not libedit:
        readline.parse_and_bind("set show-all-if-ambiguous on")
    try:
        yield
    finally:
        readline.set_completer(before[0])
        readline.set_completer_delims(before[1])
