"""Mistakes: what the models' own rules say when a value breaks them, before its place in a file is known."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """What is wrong, and what to do; `at` leads from the value that was checked to the part that is wrong."""

    what: str
    next_step: str
    at: tuple[str | int, ...] = ()


class Mistaken(ValueError):  # noqa: N818 (the value is)
    """Raised by validators, with every mistake of the value."""

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__("; ".join(f"{one.what}. {one.next_step}" for one in mistakes))
        self.mistakes = mistakes


def mistaken(what: str, next_step: str) -> Mistaken:
    return Mistaken(Mistake(what, next_step))
