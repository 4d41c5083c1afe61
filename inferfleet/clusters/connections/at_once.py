"""Ask many clusters at the same time, with one deadline for all."""

import importlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from inferfleet.clusters.connections.api import Api, NoAnswerError, RefusedError
from inferfleet.clusters.connections.asked import Asked
from inferfleet.clusters.connections.connect import connect
from inferfleet.clusters.connections.exec_command import CommandError
from inferfleet.clusters.connections.gke import NotThere, Reached, reach
from inferfleet.clusters.connections.google_apis import ContainerApi
from inferfleet.clusters.connections.google_login import preload
from inferfleet.clusters.connections.kubeconfig import GIVEN_UP
from inferfleet.clusters.connections.kubeconfig_text import KubeconfigError, access
from inferfleet.clusters.connections.unreachable import (
    no_answer,
    no_credentials,
    refusal,
    unlocated,
    unusable,
)
from inferfleet.desired.values import Connection, Desired
from inferfleet.documents.problems import Problem

T = TypeVar("T")


def ask(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    question: Callable[[Connection, Api], T],
    *,
    container_api: str,
    seconds: float,
) -> dict[str, T | Problem | NotThere]:
    """Return by cluster its answer to the question, or why there is none, within `seconds`.

    Lost and abandoned clusters are not asked. Of the others those are that have a text in `kubeconfigs`, and
    those that the stack creates: the Container API at the address `container_api` says where these are.
    """
    asked = {
        cluster.connection.cluster: cluster.connection
        for cluster in desired.clusters
        if cluster.connection.state not in GIVEN_UP
        and (cluster.connection.cluster in kubeconfigs or cluster.connection.cloud)
    }
    google = ContainerApi(container_api)
    ways = {name: Reached(text, private=False) for name, text in kubeconfigs.items()}
    # The import takes a second or more on a busy machine, and must not count as the clusters' delay.
    if asked:
        importlib.import_module("kubernetes.config")
    if any(connection.cloud for connection in asked.values()):
        preload()
    deadline = time.monotonic() + seconds

    def answer_of(connection: Connection) -> T | Problem | NotThere:
        if connection.cloud:
            way = reach(google, connection, connection.cloud, seconds=deadline - time.monotonic())
            if not isinstance(way, Reached):
                return way
            ways[connection.cluster] = way
        return _answer(connection, ways[connection.cluster], question, deadline - time.monotonic())

    questions = {name: partial(answer_of, connection) for name, connection in asked.items()}
    # One second more than the threads have: a thread knows better than we do why nothing came.
    answers = Asked(questions).answers(until=deadline + 1)
    for name in asked.keys() - answers.keys():
        why = f"nothing came within {seconds:.0f} s"
        way = ways.get(name)
        answers[name] = (
            _no_answer(asked[name], way, why) if way else unlocated(asked[name], google.address, why)
        )
    return answers


def _answer(
    connection: Connection, way: Reached, question: Callable[[Connection, Api], T], seconds: float
) -> T | Problem:
    try:
        return question(connection, connect(connection, way.kubeconfig, seconds=seconds))
    except KubeconfigError as error:
        return unusable(connection, error)
    except CommandError as error:
        return no_credentials(connection, error)
    except NoAnswerError as error:
        return _no_answer(connection, way, str(error))
    except RefusedError as error:
        return refusal(connection, error)


def _no_answer(connection: Connection, way: Reached, why: str) -> Problem:
    server = access(way.kubeconfig, connection.context).server
    return no_answer(connection, server, why, private=way.private)
