"""Token streams: prompts that extend are joined, others begin a segment; each token says who made it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulators import Completion
from simulators.tokens import Segment, segments


def turn(prompt: str, sampled: str) -> Completion:
    """Letters as tokens, each sampled with the log-probability -1."""
    ids = tuple(map(ord, sampled))
    return Completion(
        sampled, token_ids=ids, prompt_token_ids=tuple(map(ord, prompt)), logprobs=(-1.0,) * len(ids)
    )


def shown(found: tuple[Segment, ...]) -> list[tuple[str, str]]:
    for one in found:
        assert len(one.ids) == len(one.sampled) == len(one.logprobs)
        assert one.logprobs == tuple(-1.0 if made else 0.0 for made in one.sampled)
    return [("".join(map(chr, one.ids)), "".join(map(str, one.sampled))) for one in found]


def test_prompts_that_extend_are_one_segment() -> None:
    assert shown(segments([turn("ab", "C"), turn("abCd", "EF"), turn("abCdEFg", "H")])) == [
        ("abCdEFgH", "00101101")
    ]


def test_a_prompt_that_does_not_extend_begins_a_segment() -> None:
    assert shown(segments([turn("ab", "C"), turn("abXd", "E"), turn("abXdEf", "G")])) == [
        ("abC", "001"),
        ("abXdEfG", "0000101"),
    ]


def test_a_turn_without_tokens_is_read_later_and_not_sampled() -> None:
    untold = Completion("c")
    assert shown(segments([turn("a", "B"), untold, turn("aBxCy", "D")])) == [("aBxCyD", "010001")]
    assert segments([untold]) == ()
    assert segments([]) == ()


def test_nothing_sampled_adds_nothing_sampled() -> None:
    assert shown(segments([turn("a", ""), turn("ab", "C")])) == [("abC", "001")]


@given(st.lists(st.tuples(st.text("ab", max_size=4), st.text("AB", max_size=4)), min_size=1, max_size=8))
def test_all_that_was_sampled_is_there_once_and_in_order(turns: list[tuple[str, str]]) -> None:
    said, made = "", []
    for read, sampled in turns:
        made.append(turn(said + read, sampled))
        said += read + sampled
    ((text, mask),) = shown(segments(made))
    assert text == said
    assert "".join(letter for letter, one in zip(text, mask, strict=True) if one == "1") == "".join(
        sampled for _, sampled in turns
    )


def test_a_segment_is_json() -> None:
    assert segments([turn("a", "B")])[0].to_dict() == {
        "ids": [97, 66],
        "sampled": [0, 1],
        "logprobs": [0.0, -1.0],
    }
