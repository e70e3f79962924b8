"""Policy documents, and retrieval over them.

A knowledge base is a folder of Markdown files with TOML front matter. Retrieval is lexical (BM25) and needs
nothing but numpy and rank-bm25:

    >>> from kb import BM25Retriever, Document
    >>> retriever = BM25Retriever([Document("fees", "Card fees", "A replacement card costs 10 dollars.")])
    >>> [hit.document_id for hit in retriever.search("replacement card", k=3)]
    ['fees']
"""

from kb.bm25 import BM25Retriever
from kb.documents import Document, DocumentError, load_documents
from kb.retriever import Hit, Retriever
from kb.snippets import Snippet, snippet
from kb.tokens import tokenize

__all__ = [
    "BM25Retriever",
    "Document",
    "DocumentError",
    "Hit",
    "Retriever",
    "Snippet",
    "load_documents",
    "snippet",
    "tokenize",
]
