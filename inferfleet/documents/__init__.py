"""What a person may write: one model per kind, YAML with lines, loading, shapes of pods, and problems.

A rule belongs here if documents can break it by themselves. Data about other people's programs belong into
`tables`, decisions above. A new kind is a module of `kinds`, a row of `loading.load.KINDS` and a field of
`Documents`.
"""

from typing import TYPE_CHECKING, Any

from inferfleet.documents.problems import InvalidDocuments, Problem, Where

if TYPE_CHECKING:
    from inferfleet.documents.documents import Documents
    from inferfleet.documents.loading.load import load

__all__ = ["Documents", "InvalidDocuments", "Problem", "Where", "load"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: whoever needs no more than a quantity does not pay for the documents' models.
    if name == "Documents":
        from inferfleet.documents.documents import Documents

        return Documents
    if name == "load":
        from inferfleet.documents.loading.load import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
