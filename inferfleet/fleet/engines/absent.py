"""Why an engine of one version serves no metric of a name, as its table tells."""

from inferfleet.api.wording import one_of
from inferfleet.profiles.images import Version, dotted
from inferfleet.profiles.metrics.values import EngineMetrics

# What, next step, and whether it is certain.
Absence = tuple[str, str, bool]


def absence(name: str, kind: str, known: EngineMetrics, version: Version | None) -> Absence | None:
    """Return why an engine of this version, None for an unknown one, does not serve a gauge; None where it
    does, or serves another thing by this name, or nobody knows. The name begins as the engine's own do.
    """
    gauge = f"rite a gauge such as {known.example}"
    if name in known.old:
        return _went(name, kind, known, version)
    if name in known.gauges:
        lacking = known.lacking.get(name)
        if version is None or lacking is None or version > lacking:
            return None
        what = f"{kind} {dotted(version)} has no metric {name}: {dotted(lacking)} lacks it too"
        return what, f"Take a newer image, or w{gauge}", True
    others = known.counters | known.histograms | known.summaries | known.bare_summaries | known.fixed
    if name in others or name in known.mixed or (known.others and name.startswith(known.others)):
        return None
    what = f"no metric {name} is known of {kind} (its metrics were read from {known.read})"
    step = one_of(name, known.gauges, "Its gauges")
    end = "" if step.endswith("?") else "."
    return what, f"{step}{end} Keep it if your version of {kind} has it", False


def parts(name: str) -> str:
    """Return what is served of a histogram."""
    return f"of which only {name}_bucket, {name}_sum and {name}_count are served"


def _went(name: str, kind: str, known: EngineMetrics, version: Version | None) -> Absence | None:
    old = known.old[name]
    step = f"Write {old.instead}" if old.instead else f"Write a gauge such as {known.example}"
    gone = dotted(old.gone)
    if old.histogram and (version is None or version >= old.hidden):
        what = f"{name} is a gauge of earlier versions of {kind}, and in {gone} a histogram, {parts(name)}"
        return what, step, version is not None
    if version is not None and version >= old.gone:
        return f"{kind} {dotted(version)} has no metric {name}: it is gone from {gone} on", step, True
    if version is None or version >= old.hidden:
        hidden = ", and hides it before unless a flag shows it" if old.hidden < old.gone else ""
        return f"{kind} has no metric {name} from {gone} on{hidden}", step, False
    return None
