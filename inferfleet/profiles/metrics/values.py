"""What is known of one engine's metrics: their types, the range of their values, and names that went."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inferfleet.profiles.images import Version


@dataclass(frozen=True)
class Old:
    """A gauge that newer versions do not serve.

    It is served by default before `hidden`, by nobody from `gone` on, and in between only where a flag shows
    it. `instead` is the gauge that took its place, None where none did. With `histogram`, newer versions have
    a histogram of this name.
    """

    hidden: Version
    gone: Version
    instead: str | None = None
    histogram: bool = False


@dataclass(frozen=True)
class EngineMetrics:
    """The metrics of an engine in the version `read`, by the names that its source gives them.

    `gauges` have the most that their value can be, None where nothing bounds it; the least is 0. `fixed` are
    gauges whose value does not follow the load. `mixed` have several series of different things, told apart
    by the label that is named. `summaries` have a series for each quantile; nothing has the name of one of
    `bare_summaries` itself, since prometheus_client keeps no quantiles
    (https://prometheus.github.io/client_python/instrumenting/summary, 2026-11-24). Counters have `_total`
    behind their name where they are served by prometheus_client. `old` are gauges that went, `lacking` the
    newest version that was read and has not the gauge yet. Names that begin otherwise than `prefix` are not
    the engine's own, and where `prefixed`, its /metrics has none; of those that begin with `others` not all
    are known. With `per_copy`, a gauge has a series for each copy of the model behind an API server, and no
    other; without, it is not known whether it has one, one for each copy or one for each GPU.
    """

    prefix: str
    read: str
    example: str
    gauges: Mapping[str, float | None]
    counters: frozenset[str]
    histograms: frozenset[str]
    summaries: frozenset[str] = frozenset()
    bare_summaries: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    mixed: Mapping[str, str] = field(default_factory=dict)
    old: Mapping[str, Old] = field(default_factory=dict)
    lacking: Mapping[str, Version] = field(default_factory=dict)
    others: str | None = None
    prefixed: bool = False
    per_copy: bool = False


def named(prefix: str, names: str) -> frozenset[str]:
    """Return the names in the text, with the prefix before each."""
    return frozenset(prefix + name for name in names.split())
