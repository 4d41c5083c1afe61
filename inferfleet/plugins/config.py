"""Reads the config of a link with the model of its plugin; every problem names the key it stands at."""

import hashlib
import json
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel, create_model

from inferfleet.api.problems import Problem
from inferfleet.api.validation import validated
from inferfleet.plugins.contract import Plugin
from inferfleet.plugins.link import Link
from inferfleet.plugins.plain import NotPlain, plain


def read(link: Link, plugin: Plugin) -> BaseModel | tuple[Problem, ...]:
    """The validated config, sharing nothing with the document; or all that is wrong with it."""
    try:
        raw = plain(_written(link), "config")
    except NotPlain as error:
        what, next_step = (
            f"build plugin {plugin.name}: {error}",
            "Put dates in quotes, and write keys as text",
        )
        return (link.problem(what, next_step, field="config"),)
    found, problems = validated(_holder(plugin.config), {"config": raw}, link.line_below)
    if found is None:
        return tuple(
            replace(one, what=f"build plugin {plugin.name}: {one.what}", path=f"{link.path}.{one.path}")
            for one in problems
        )
    config: BaseModel = found.config  # type: ignore[attr-defined]  # the one field of a holder
    return config


def fingerprint(link: Link) -> str:
    """8 hex digits that change when the config does, and not when its keys change places."""
    text = json.dumps(_written(link), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _written(link: Link) -> Any:
    """As in Kthena, no config and null both mean an empty one."""
    return {} if link.spec.config is None else link.spec.config


@cache
def _holder(config: type[BaseModel]) -> type[BaseModel]:
    """A model around the config, so that problems call it `config` and not a document."""
    return create_model("Holder", config=(config, ...))
