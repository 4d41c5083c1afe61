"""Why an engine ends at its start, in the words a person reads in the pod's status."""


class EngineFailure(Exception):  # noqa: N818 (it is told to a person, by its text)
    """Raised with the last words of the engine."""
