"""Objects shown to an API server, which says whether an update could write them and keeps nothing."""

import queue
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inferfleet.clusters.connections.api import Api, NoAnswerError, RefusedError
from inferfleet.clusters.connections.asked import Asked

# Requests at once: an API server works on 600 of all clients by default (--max-requests-inflight and its
# mutating counterpart), and one of a small cluster shares two cores with what runs there.
PARALLEL = 8
_LATE = "it was not asked in time"


@dataclass(frozen=True)
class DryRun:
    """One object as server-side apply would write it: its path, and who writes it. With `force` it takes
    over fields that somebody else has set.
    """

    path: str
    manifest: dict[str, Any]
    manager: str
    force: bool


Answer = RefusedError | NoAnswerError | None


def dry_runs(api: Api, asked: Sequence[DryRun]) -> list[Answer]:
    """Return why each object would not be written, None where it would."""
    answers: list[Answer] = [NoAnswerError(_LATE)] * len(asked)
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(asked)):
        waiting.put(number)

    def ask() -> None:
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            answers[number] = _answer(api, asked[number])

    # One second more than the requests have.
    Asked(dict.fromkeys(range(min(PARALLEL, len(asked))), ask)).answers(until=api.deadline + 1)
    return list(answers)


def _answer(api: Api, asked: DryRun) -> Answer:
    try:
        api.dry_run(asked.path, asked.manifest, manager=asked.manager, force=asked.force)
    except (RefusedError, NoAnswerError) as error:
        return error
    return None
