"""What a person may write: one model per kind, loading, and errors with file and line.

Add a module for a new kind. Defaults of other people's software belong in `profiles`, decisions above.
"""

from inferfleet.api.documents import Documents
from inferfleet.api.loading import load
from inferfleet.api.problems import InvalidDocuments, Problem, Where

__all__ = ["Documents", "InvalidDocuments", "Problem", "Where", "load"]
