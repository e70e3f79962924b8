"""BM25 retrieval against rank-bm25, side by side on the same documents and queries.

Run:

    python benchmarks/retrieval.py [--documents 700] [--words 200] [--queries 300] [--seed 0]

The corpus is synthetic: words drawn from a vocabulary in which the word of rank r is about 1/r as common as
the first (Zipf), so that the head is in every document. A query is 3 to 8 words drawn likewise, up to two of
them given twice. For both idf choices the table says whether all scores have the same bits, and the time of a
query in microseconds: `scores` against rank-bm25's `get_scores`, and `search` for the best 10 against its
`get_top_n`. Ours start from text, rank-bm25's from words. A time is the best of three passes.
The exit status is 1 if any score differs.
"""

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from rank_bm25 import BM25Okapi

from kb import BM25Retriever, Document
from kb.bm25 import PositiveOkapi

MODELS = {"positive": PositiveOkapi, "okapi": BM25Okapi}
VOCABULARY = 8000
PASSES = 3


def synthetic_words(rng: random.Random, texts: int, lengths: Sequence[int]) -> list[list[str]]:
    """Draw texts of words, each as long as one of the lengths."""
    words = [f"w{rank}" for rank in range(VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
    return [rng.choices(words, weights, k=rng.choice(lengths)) for _ in range(texts)]


def microseconds(ask: Callable[[Any], object], queries: Sequence[object]) -> float:
    """Measure the mean time of a query, in microseconds."""
    best = float("inf")
    for _ in range(PASSES):
        start = perf_counter()
        for query in queries:
            ask(query)
        best = min(best, perf_counter() - start)
    return best / len(queries) * 1e6


def compare(idf: str, corpus: list[list[str]], queries: list[list[str]]) -> bool:
    """Print one row of the table; say whether all scores are bit-equal."""
    documents = [Document(f"d{row:06}", "", " ".join(words)) for row, words in enumerate(corpus)]
    texts = [" ".join(words) for words in queries]
    ours, theirs = BM25Retriever(documents, idf=idf), MODELS[idf](corpus)  # type: ignore[arg-type]
    equal = all(
        ours.scores(text).tobytes() == theirs.get_scores(words).tobytes()
        for text, words in zip(texts, queries, strict=True)
    )
    scores, get_scores = microseconds(ours.scores, texts), microseconds(theirs.get_scores, queries)
    search = microseconds(lambda text: ours.search(text, 10), texts)
    get_top_n = microseconds(lambda words: theirs.get_top_n(words, documents, 10), queries)
    print(
        f"{idf:<9} {'yes' if equal else 'NO':<9} "
        f"{scores:>7.1f} {get_scores:>11.1f} {get_scores / scores:>6.1f}x "
        f"{search:>9.1f} {get_top_n:>10.1f} {get_top_n / search:>6.1f}x"
    )
    return equal


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=700)
    parser.add_argument("--words", type=int, default=200, help="words a document")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    corpus = synthetic_words(rng, options.documents, [options.words])
    queries = synthetic_words(rng, options.queries, range(3, 9))
    queries = [words + words[: rng.randint(0, 2)] for words in queries]
    print(
        f"{options.documents} documents of {options.words} words, {options.queries} queries, "
        f"seed {options.seed}; microseconds a query\n"
    )
    print("idf       bit-equal  scores  get_scores   ratio    search  get_top_n   ratio")
    equal = [compare(idf, corpus, queries) for idf in MODELS]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
