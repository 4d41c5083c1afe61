"""A part that many pods have in common is walked once, and told apart from one that says something else."""

from typing import Any

from inferfleet.documents.pods.template import spec_mistakes


def test_a_part_that_was_sound_once_is_looked_at_again_where_it_says_something_else() -> None:
    def said(**probe: Any) -> list[str]:
        container = {"name": "engine", "image": "engine:1", "readinessProbe": {"periodSeconds": 5, **probe}}
        return [mistake.what for mistake in spec_mistakes({"containers": [container]})]

    port = {"tcpSocket": {"port": 80}}
    for _ in range(2):
        assert said(**port) == []
        assert said(**port, timeoutSeconds=True) != []
        assert said(**port, timeoutSeconds=1) == []
        assert said(tcpSocket={"port": 80, "host": 5}) != []
