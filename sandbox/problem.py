"""The error that stops a command of the sandbox with a message instead of a traceback."""


class SandboxProblem(Exception):  # noqa: N818 (people read its text, not its name)
    """Raised with a message that names the thing, says what is wrong and what to do next."""
