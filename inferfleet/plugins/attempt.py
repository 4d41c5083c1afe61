"""Runs one plugin at arm's length: it is somebody else's code, and whatever it does ends as a PluginError."""

import copy
import traceback
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from inferfleet.plugins.contract import Edited, Plugin, PluginError, PodTemplate, Request
from inferfleet.plugins.plain import NotPlain, plain
from inferfleet.plugins.shape import misshapen


def attempt(plugin: Plugin, template: PodTemplate, request: Request, config: BaseModel) -> Edited:
    """What the plugin gives back: a plain template of the right shape, that shares nothing with any other."""
    given = _call(plugin, copy.deepcopy(template), copy.deepcopy(request), config)
    edited = given if isinstance(given, Edited) else Edited(given)
    if not isinstance(edited.template, dict):
        raise PluginError(
            f"gave back {type(edited.template).__name__}, and a plugin returns the template it edited"
        )
    try:
        after = plain(edited.template)
    except NotPlain as error:
        raise PluginError(f"gave back a template in which {error}") from error
    # Oddities that the team wrote itself are not the plugin's.
    odd = [one for one in misshapen(after) if one not in set(misshapen(template))]
    if odd:
        raise PluginError(f"gave back a template in which {'; '.join(odd)}")
    if not isinstance(edited.companions, list | tuple):
        raise PluginError(f"gave back companions {edited.companions!r:.60}, and they must be a tuple")
    return Edited(after, tuple(edited.companions))


def _call(plugin: Plugin, template: PodTemplate, request: Request, config: BaseModel) -> Any:
    try:
        return plugin.edit(template, request, config)
    except PluginError:
        raise
    # The one border to code that others write: a KeyError in there must reach the team as a problem with
    # the line it happened on, never as a traceback, and the other plugins still get their turn. So this
    # catches everything on purpose, and raises it again as what the chain expects.
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise PluginError(
            f"{type(error).__name__}: {error} (at {Path(last.filename).name}:{last.lineno})"
        ) from error
