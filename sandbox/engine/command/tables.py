"""Decides by which table an engine's command line is read, and whether it is judged."""

import re

from inferfleet.tables.flags import FlagTable, flags
from inferfleet.tables.images import reference_of
from sandbox.engine.command.flags import EngineFlags

_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)?).*")


def table_of(engine: EngineFlags, image: str) -> tuple[FlagTable, bool]:
    """Return the table for the engine in an image, and whether it has all that the engine takes.

    The tag says the version. An image whose tag says none is read as one that has a table, and so is one of
    another version, of which unknown words are not judged.
    """
    if engine.own is not None:
        return engine.own, False
    version = _VERSION.fullmatch(reference_of(image).tag)
    exact = flags(engine.type_name, version[1] if version else engine.version)
    table = exact or flags(engine.type_name, engine.version)
    assert table is not None  # it is one of this repository
    return table, exact is not None
