"""Many clusters asked at the same time, each until one deadline."""

import importlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection, Desired
from inferfleet.reach.asked import Asked
from inferfleet.reach.connect import Api, NoAnswerError, RefusedError, connect
from inferfleet.reach.exec_command import CommandError
from inferfleet.reach.gke import NotThere, Reached, reach
from inferfleet.reach.google_apis import ContainerApi
from inferfleet.reach.google_login import ready
from inferfleet.reach.kubeconfig import GIVEN_UP, KubeconfigError, access
from inferfleet.reach.silence import refusal, silent, unknown, unusable, without_credentials

T = TypeVar("T")


def ask(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    question: Callable[[Connection, Api], T],
    *,
    container_api: str,
    seconds: float,
) -> dict[str, T | Problem | NotThere]:
    """What each cluster answered, or why it did not, by cluster; complete after so many seconds.

    Lost and abandoned clusters are not asked, nor those that neither have a text in `kubeconfigs` nor are
    created by the stack. Google says where the latter are, at the address `container_api`.
    """
    asked = {
        one.connection.cluster: one.connection
        for one in desired.clusters
        if one.connection.state not in GIVEN_UP
        and (one.connection.cluster in kubeconfigs or one.connection.cloud)
    }
    google = ContainerApi(container_api)
    ways = {name: Reached(text, inside=False) for name, text in kubeconfigs.items()}
    # A second or more on a busy machine, which is not the clusters' fault.
    if asked:
        importlib.import_module("kubernetes.config")
    if any(one.cloud for one in asked.values()):
        ready()
    deadline = time.monotonic() + seconds

    def answer_of(connection: Connection) -> T | Problem | NotThere:
        if connection.cloud:
            way = reach(google, connection, connection.cloud, seconds=deadline - time.monotonic())
            if not isinstance(way, Reached):
                return way
            ways[connection.cluster] = way
        return _answer(connection, ways[connection.cluster], question, deadline - time.monotonic())

    questions = {name: partial(answer_of, connection) for name, connection in asked.items()}
    # A second more: what a thread can say about its silence is better than what is known here.
    found = Asked(questions).answers(until=deadline + 1)
    for name in asked.keys() - found.keys():
        why = f"nothing came within {seconds:.0f} s"
        way = ways.get(name)
        found[name] = _silent(asked[name], way, why) if way else unknown(asked[name], google.address, why)
    return found


def _answer(
    connection: Connection, way: Reached, question: Callable[[Connection, Api], T], seconds: float
) -> T | Problem:
    try:
        return question(connection, connect(connection, way.kubeconfig, seconds=seconds))
    except KubeconfigError as error:
        return unusable(connection, error)
    except CommandError as error:
        return without_credentials(connection, error)
    except NoAnswerError as error:
        return _silent(connection, way, str(error))
    except RefusedError as error:
        return refusal(connection, error)


def _silent(connection: Connection, way: Reached, why: str) -> Problem:
    server = access(way.kubeconfig, connection.context).server
    return silent(connection, server, why, inside=way.inside)
