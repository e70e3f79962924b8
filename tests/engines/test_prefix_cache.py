"""Sequences of tokens found by the longest common beginning, against a search through all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulators.engines.local.prefix_cache import PrefixCache, key, shared

sequences = st.lists(st.integers(0, 2), min_size=1, max_size=6)


def cache_of(capacity: int, *added: list[int]) -> PrefixCache[list[int]]:
    cache = PrefixCache[list[int]](capacity)
    for tokens in added:
        cache.add(key(tokens), lambda tokens=tokens: tokens)  # type: ignore[misc]
    return cache


def common(one: list[int], other: list[int]) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@given(sequences, sequences)
def test_two_keys_share_as_many_tokens_as_their_sequences_begin_with(
    one: list[int], other: list[int]
) -> None:
    assert shared(key(one), key(other)) == common(one, other)


@given(st.lists(sequences, max_size=12), sequences)
def test_no_sequence_begins_more_like_another_than_the_one_that_is_found(
    added: list[list[int]], wanted: list[int]
) -> None:
    found, length = cache_of(1000, *added).longest(key(wanted))
    assert length == max((common(tokens, wanted) for tokens in added), default=0)
    assert (found is None) == (length == 0)
    assert found is None or common(found, wanted) == length


@given(st.lists(sequences, max_size=12))
def test_a_sequence_goes_when_a_longer_one_has_all_of_it(added: list[list[int]]) -> None:
    whole = [one for one in added if not any(len(other) > len(one) == common(one, other) for other in added)]
    assert cache_of(1000, *added).tokens == sum(map(len, {tuple(one) for one in whole}))


def test_tokens_above_255_are_told_apart_and_ordered() -> None:
    cache = cache_of(100, [256, 1], [1, 256], [65536])
    assert cache.longest(key([256, 2])) == ([256, 1], 1)
    assert cache.longest(key([65536, 7])) == ([65536], 1)
    assert cache.longest(key([0])) == (None, 0)


def test_the_least_recently_used_sequence_goes_first() -> None:
    cache = cache_of(6, [1, 1, 1], [2, 2, 2])
    cache.longest(key([1, 1]))
    cache.add(key([3, 3]), lambda: [3, 3])
    assert cache.longest(key([2, 2, 2])) == (None, 0)
    assert cache.longest(key([1, 1, 1])) == ([1, 1, 1], 3)
    assert cache.tokens == 5


def test_what_is_longer_than_the_whole_cache_is_not_kept_and_costs_nothing() -> None:
    cache = cache_of(2, [5, 6])

    def computed() -> list[int]:
        raise AssertionError("it was copied")

    cache.add(key([7, 8, 9]), computed)
    cache.add(key([5]), computed)  # the beginning of one that is there
    assert cache.longest(key([5, 6])) == ([5, 6], 2)


def test_an_emptied_cache_finds_nothing() -> None:
    cache = cache_of(10, [1, 2])
    cache.clear()
    assert (cache.longest(key([1, 2])), cache.tokens) == ((None, 0), 0)
