"""The error that ends an engine, in the words that a person reads in its log and the pod's status."""

# The exit code of programs that refuse their command line.
REFUSED = 2


class EngineFailure(Exception):  # noqa: N818 (people read its text, not its name)
    """Raised with the engine's own last message. `code` is the exit code of its process."""

    def __init__(self, message: str, *, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
