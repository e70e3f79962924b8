"""Players for tests of environments; importing this registers the domain "shop"."""

import tests.shop  # noqa: F401

TALK = {"type": "message", "content": "And then?"}
STOP = {"type": "stop"}


def call(name, /, **arguments):
    return {"type": "tool_call", "name": name, "arguments": arguments}


def say(text):
    return {"type": "message", "content": text}


class Says:
    """Plays a list of actions by its own turns so far, then talks."""

    def __init__(self, *actions):
        self.actions = actions

    def act(self, observation):
        done = sum(message.role == self.role for message in observation["messages"])
        return dict(self.actions[done]) if done < len(self.actions) else dict(TALK)


class User(Says):
    role = "user"


class Agent(Says):
    role = "agent"


class Broken:
    """Raises whenever it is asked."""

    def act(self, observation):
        raise ConnectionError("SENTINEL: no route to the model")
