"""Policy documents, and retrieval over them.

A knowledge base is a folder of Markdown files with TOML front matter. Their numbers can come from facts in
TOML files beside them: see `kb.knowledge_base`, `kb.compiler` and `kb.checks`. Retrieval is lexical (BM25)
and needs nothing but numpy and rank-bm25; by meaning, or both fused, with the extra `retrieval`:

    >>> from kb import BM25Retriever, Document
    >>> retriever = BM25Retriever([Document("fees", "Card fees", "A replacement card costs 10 dollars.")])
    >>> [hit.document_id for hit in retriever.search("replacement card", k=3)]
    ['fees']
"""

from kb.bm25 import BM25Retriever
from kb.checks import Finding, check_knowledge_base
from kb.compiler import Citation
from kb.dense import DenseRetriever
from kb.documents import Document, DocumentError, load_documents
from kb.encoder import Encoder, RetrieverUnavailable, SentenceEncoder
from kb.facts import Fact, FactError, Facts, Revision
from kb.hybrid import HybridRetriever
from kb.knowledge_base import KnowledgeBase, load_knowledge_base
from kb.retrievals import RETRIEVALS, make_retriever
from kb.retriever import Hit, Retriever
from kb.snippets import Snippet, snippet
from kb.tokens import tokenize

__all__ = [
    "RETRIEVALS",
    "BM25Retriever",
    "Citation",
    "DenseRetriever",
    "Document",
    "DocumentError",
    "Encoder",
    "Fact",
    "FactError",
    "Facts",
    "Finding",
    "Hit",
    "HybridRetriever",
    "KnowledgeBase",
    "Retriever",
    "RetrieverUnavailable",
    "Revision",
    "SentenceEncoder",
    "Snippet",
    "check_knowledge_base",
    "load_documents",
    "load_knowledge_base",
    "make_retriever",
    "snippet",
    "tokenize",
]
