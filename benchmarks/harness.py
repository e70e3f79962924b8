"""CPU of the harness for each turn, above a bare loop of the same calls.

Run: python benchmarks/harness.py [--episodes 200] [--turns 10] [--rounds 5] [--memory 20000]

The sides of each comparison take turns in every round; printed are medians over the rounds. Every episode has
that many turns of the agent, which says a line each time; the customer answers at once.

**In this process** the agent answers at once too. The bare loop plays one episode after the other in one
reused database, with nothing but observe, ask, act and grade; the harness (`Batch`) plays all at once, with
deadlines for turns and episodes. Aim: less than 0.3 ms a turn above the loop.

**Over HTTP** the agent is a model behind a server, in a process of its own on this machine, that answers at
once; only this process is measured. The bare loop is asyncio with one `httpx.AsyncClient`, which posts bodies
that were made beforehand, as many conversations at once as the harness; it has no episode, player, database
or grade. The harness is `Batch` with `LLMPlayer` and `OpenAIEngine`, and makes such bodies itself. Aim: at
most 1.3 times the loop. A pool of httpx takes longer for each request the more connections it has, so the
same loop is measured a second time with a client, and thus a pool, for each conversation.

With --memory, so many more episodes are played and dropped, and the memory of the process is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx

from gym_enterprise import Domain, Episode, Record, Task, load_domain
from gym_enterprise.harness.batch import Batch, Job, rollout
from simulators import ChatRequest, Completion, LLMPlayer, OpenAIEngine, Synchronous

AIM_MS, AIM_RATIO = 0.3, 1.3
LINE = "May I have your date of birth, please?"
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": LINE},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 3000, "completion_tokens": 9, "total_tokens": 3009},
}


class Line(Synchronous):
    """Says the same line at once, whatever it sees."""

    def act(self, observation: Any) -> dict[str, Any]:
        """Return the line."""
        return {"type": "message", "content": LINE}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=200, help="how many are played at once")
    parser.add_argument("--turns", type=int, default=10, help="turns of the agent in each")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--memory", type=int, default=0, help="how many episodes to watch the memory over")
    options = parser.parse_args()
    domain = load_domain("banking")
    tasks = list(domain.tasks["train"].values())
    chosen = [tasks[number % len(tasks)] for number in range(options.episodes)]
    steps, turns = 2 * options.turns, options.episodes * options.turns
    print(f"CPU a turn of the agent, {options.episodes} episodes at once")
    ours, loop = measured(
        options.rounds, turns, partial(harness, domain, chosen, steps), partial(bare, domain, chosen, steps)
    )
    print(f"in this process: harness {statistics.median(ours):.3f} ms")
    tell("bare loop", ours, loop)
    above = statistics.median(mine - base for mine, base in zip(ours, loop, strict=True))
    print(f"  above it: {above:.3f} ms (aim: under {AIM_MS})")
    with serving() as url:
        bodies = conversations(domain, tasks, steps)
        chats = [bodies[task.id] for task in chosen]
        ours, loop, best = measured(
            options.rounds,
            turns,
            partial(harness_http, url, domain, chosen, steps),
            partial(bare_http, url, chats, clients=1),
            partial(bare_http, url, chats, clients=len(chats)),
        )
    print(f"over HTTP, bodies of {size(bodies) / 1000:.1f} kB: harness {statistics.median(ours):.3f} ms")
    tell("bare loop, one client", ours, loop, f" (aim: at most {AIM_RATIO})")
    tell("bare loop, a client for each conversation", ours, best)
    if options.memory:
        watch_memory(domain, tasks, options.memory, steps)


def measured(rounds: int, turns: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Let the sides take turns; return by side the milliseconds a turn of each round.

    The first round, which fills caches, is left out.
    """
    spent = [[side() for side in sides] for _ in range(rounds + 1)][1:]
    return [[1000 * seconds / turns for seconds in column] for column in zip(*spent, strict=True)]


def tell(name: str, ours: list[float], theirs: list[float], aim: str = "") -> None:
    ratio = statistics.median(mine / base for mine, base in zip(ours, theirs, strict=True))
    print(f"  {name}: {statistics.median(theirs):.3f} ms, ratio {ratio:.2f}{aim}")


# -- in this process --------------------------------------------------------------------------------------


def bare(domain: Domain, tasks: list[Task], max_steps: int) -> float:
    """Play one episode after the other; return seconds of CPU."""
    episode = Episode(domain, tasks[0], max_steps=max_steps)
    players = {"agent": Line(), "user": Line()}
    start = time.process_time()
    for task in tasks:
        episode.reset(task)
        while (seat := episode.turn) is not None:
            episode.act(seat, players[seat].act(episode.observe(seat)))
        check(episode.step, max_steps, episode.grade().reward)
    return time.process_time() - start


def harness(domain: Domain, tasks: list[Task], max_steps: int) -> float:
    """Play all episodes at once; return seconds of CPU, databases included."""
    start = time.process_time()
    records = asyncio.run(played(domain, tasks, Line(), max_steps))
    spent = time.process_time() - start
    for record in records:
        check(record.steps, max_steps, record.reward)
    return spent


def played(domain: Domain, tasks: list[Task], agent: Any, max_steps: int) -> Awaitable[list[Record]]:
    """Play all episodes at once, with deadlines."""
    jobs = [Job(task, trial) for trial, task in enumerate(tasks)]
    limits = {"turn_deadline": 60.0, "episode_deadline": 600.0, "max_steps": max_steps}
    return rollout(domain, jobs, agent, Line(), concurrency=len(jobs), **limits)


# -- over HTTP --------------------------------------------------------------------------------------------


def bare_http(url: str, conversations: list[list[dict[str, Any]]], clients: int) -> float:
    """Post the bodies of all conversations, each in its order, all at once; return seconds of CPU.

    Args:
        url: The server.
        conversations: The bodies of each.
        clients: 1 for all, or as many as conversations.
    """

    async def converse(client: httpx.AsyncClient, bodies: list[dict[str, Any]]) -> list[str]:
        said = []
        for body in bodies:
            answer = await client.post(f"{url}/chat/completions", json=body)
            answer.raise_for_status()
            said.append(answer.json()["choices"][0]["message"]["content"])
        return said

    async def everything() -> list[list[str]]:
        most = len(conversations) // clients
        limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
        async with AsyncExitStack() as stack:
            opened = [httpx.AsyncClient(limits=limits, timeout=60.0, verify=secure) for _ in range(clients)]
            for client in opened:
                await stack.enter_async_context(client)
            pairs = zip(itertools.cycle(opened), conversations, strict=False)
            return await asyncio.gather(*(converse(client, bodies) for client, bodies in pairs))

    start = time.process_time()
    secure = httpx.create_ssl_context()  # once, as reading the certificates takes longer than many requests
    said = asyncio.run(everything())
    spent = time.process_time() - start
    if {text for texts in said for text in texts} != {LINE}:
        raise SystemExit("the server answered something else")
    return spent


def harness_http(url: str, domain: Domain, tasks: list[Task], max_steps: int) -> float:
    """Play all episodes at once with a model as the agent; return seconds of CPU."""

    async def everything() -> list[Record]:
        async with OpenAIEngine("m", url, concurrency=len(tasks)) as engine:
            return await played(domain, tasks, partial(LLMPlayer, engine=engine), max_steps)

    start = time.process_time()
    records = asyncio.run(everything())
    spent = time.process_time() - start
    for record in records:
        check(record.steps, max_steps, record.reward)
    return spent


def conversations(domain: Domain, tasks: list[Task], max_steps: int) -> dict[str, list[dict[str, Any]]]:
    """Return by task the bodies that the harness posts in one episode of it."""
    engine = Recorder()
    jobs = [Job(task) for task in tasks]
    asyncio.run(
        rollout(domain, jobs, partial(LLMPlayer, engine=engine), Line(), concurrency=1, max_steps=max_steps)
    )
    turns = max_steps // 2
    return {task.id: engine.bodies[place * turns :][:turns] for place, task in enumerate(tasks)}


class Recorder:
    """Says the line, and keeps what it was asked as the body that is posted for it."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer at once."""
        sampling = {"max_tokens": request.sampling.max_tokens, "seed": request.sampling.seed}
        self.bodies.append(
            {"model": "m", "messages": list(request.messages), "tools": list(request.tools), **sampling}
        )
        return Completion(LINE)


def size(bodies: dict[str, list[dict[str, Any]]]) -> float:
    return statistics.mean(len(json.dumps(body)) for chat in bodies.values() for body in chat)


@contextmanager
def serving() -> Iterator[str]:
    """Run the server in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=serve, args=(its,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/v1"
    finally:
        process.terminate()
        process.join()


def serve(pipe: Connection) -> None:
    """Serve on a free port of 127.0.0.1, and tell which."""

    async def forever() -> None:
        server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


class Instant(asyncio.Protocol):
    """One connection: answers each request with the same bytes as soon as it is there."""

    _body = json.dumps(ANSWER).encode()
    _answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        len(_body),
        _body,
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport, self._received = transport, bytearray()

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end]).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            if len(self._received) < end + 4 + length:
                return
            del self._received[: end + 4 + length]
            self._transport.write(self._answer)  # type: ignore[attr-defined]


# -- memory -----------------------------------------------------------------------------------------------


def watch_memory(domain: Domain, tasks: list[Task], episodes: int, max_steps: int) -> None:
    """Play episodes and drop their records; print the resident memory ten times."""
    jobs = [Job(tasks[number % len(tasks)], number) for number in range(episodes)]
    done = itertools.count(1)

    def drop(_: int, record: Record) -> None:
        if (number := next(done)) % max(1, episodes // 10) == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            print(f"after {number:6d} episodes: {pages * os.sysconf('SC_PAGE_SIZE') / 2**20:6.1f} MiB")

    asyncio.run(Batch(domain, jobs, Line(), Line(), concurrency=64, max_steps=max_steps).run(drop))


def check(steps: int, max_steps: int, reward: float | None) -> None:
    if (steps, reward) != (max_steps, 0.0):
        raise SystemExit(f"an episode took {steps} of {max_steps} steps and earned {reward}")


if __name__ == "__main__":
    main()
