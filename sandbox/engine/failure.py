"""The error that ends an engine, in the words that a person reads in its log and the pod's status."""


class EngineFailure(Exception):  # noqa: N818 (people read its text, not its name)
    """Raised with the engine's own last message."""
