"""What stops the sandbox: told in plain words, with a next step, never with a traceback."""


class SandboxProblem(Exception):  # noqa: N818 (it is told to a person, by its text)
    """Raised with one message that names the thing, says what is wrong and what to do next."""
