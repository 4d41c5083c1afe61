"""Chains of all built-in plugins, and one digest of what they make of many pods."""

import hashlib
import json
from collections.abc import Iterator
from itertools import product
from typing import Any

from example_plugins import examples
from one_request import NO_CHECK, REQUEST
from random_pods import generated_pod

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins.chain import run
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import Link, bind
from inferfleet.plugins.registry import Registry, builtin

PODS = 8


def link_to(name: str, config: dict[str, Any]) -> Link:
    """A link of a deployment's chain."""
    return Link(PluginSpec(name=name, config=config), "deployment", "ModelDeployment", "ml/web")


def in_every_order(registry: Registry, request: Request) -> Iterator[tuple[Link, Link]]:
    """Every two plugins in both orders, and each after itself; their examples take turns."""
    for turn, names in enumerate(product(registry.names, repeat=2)):
        configs = (examples(name, request) for name in names)
        first, second = (choices[turn % len(choices)] for choices in configs)
        yield link_to(names[0], first), link_to(names[1], second)


def digest_of_all(registry: Registry, request: Request) -> str:
    """What all chains of two make of some pods: templates with their order of keys, remarks and messages."""
    pods = [generated_pod(seed) for seed in range(PODS)]
    digest = hashlib.sha256()
    for number, links in enumerate(in_every_order(registry, request)):
        bound, _ = bind(links, registry, roles=(request.role,))
        outcome = run(pods[number % PODS], request, bound, NO_CHECK)
        told = [
            [step.remarks for step in outcome.effects],
            [problem.what for problem in outcome.link_problems],
        ]
        digest.update(json.dumps([outcome.template, outcome.companions, told]).encode())
    return digest.hexdigest()


def main() -> None:
    """Print the digest."""
    print(digest_of_all(builtin(), REQUEST))
