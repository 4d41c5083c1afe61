"""A cluster of the stack's own, desired and looked at, and what Google's plugin prints."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

from fake_google import PLAN, FakeGoogle

from inferfleet.clusters.preflight.observe import Observation, observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan

GKE = "spec.cluster.gke"
NAME = "east-1a2b3c in project acme, us-east5"
east_problem = partial(Problem, kind="InferenceCluster", key="east")


def connection(*, state: Any = "active", uid: str | None = None, **plan: Any) -> Connection:
    return Connection("east", "gke/acme/us-east5/east", state, uid=uid, cloud=replace(PLAN, **plan))


def desired_on(*objects: dict[str, Any], gateway: str | None = None, **more: Any) -> Desired:
    components = (Component("ServingStack", "east", tuple(KubeObject("n", one) for one in objects)),)
    cluster = DesiredCluster(connection(**more), components, gateway_class=gateway)
    return Desired("prod", (cluster,), Plan(), frozenset(), ())


def look(google: FakeGoogle, desired: Desired, *, seconds: float = 300) -> Observation:
    return observe(desired, {}, container_api=google.address, seconds=seconds)


def gives(token: str) -> str:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    return f"echo '{json.dumps(answer)}'"
