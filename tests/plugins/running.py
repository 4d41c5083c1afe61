"""Runs a chain as `desired` does: links bound to their plugins once, then run over one template."""

from collections.abc import Iterable
from typing import Any

from one_request import NO_CHECK

from inferfleet.documents.problems import Problem
from inferfleet.plugins import contract
from inferfleet.plugins.chain import Outcome, chain_problems, run
from inferfleet.plugins.contract import Plugin, PodTemplate, Request
from inferfleet.plugins.link import Link, bind
from inferfleet.plugins.registry import Registry

ROLES = ("decode", "prefill")


def mine(edit: contract.Edit, name: str = "mine", config: type[Any] = contract.Config) -> Plugin:
    """A plugin that does this."""
    return Plugin(name, config, edit, version="1.0.0")


def ran(
    template: PodTemplate, request: Request, links: Iterable[Link], registry: Registry
) -> tuple[Outcome, list[Problem]]:
    """What a chain gives, and every problem of its links."""
    bound, problems = bind(links, registry, roles=ROLES)
    outcome = run(template, request, bound, NO_CHECK)
    return outcome, [*problems, *outcome.problems, *chain_problems((*outcome.link_problems, *outcome.output))]


def outcome_of(template: PodTemplate, request: Request, links: Iterable[Link], registry: Registry) -> Outcome:
    """What a chain without problems gives."""
    outcome, problems = ran(template, request, links, registry)
    assert problems == []
    return outcome
