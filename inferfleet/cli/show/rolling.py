"""The pods that a change replaces where they are, as lines for people and as values for machines."""

from dataclasses import asdict
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.fleet.shapes import counted
from inferfleet.review.digest.values import ModelChange, StackDigest

# A stack that a commit had not, or had with errors, has nothing to be compared with.
WITHOUT_BASE = ("added", "not compared")
# Of 40 digits of a commit, as digests have them.
_DIGITS = 12


def show_rolling(compared: StackDigest, commit: str) -> None:
    """Print which pods roll since a commit, by deployment, with what becomes of its replicas besides."""
    print_line()
    rolling = _rolling(compared)
    if not rolling:
        print_line(f"no pods roll since {commit[:_DIGITS]}")
        return
    pods = sum(restart.pods for model in rolling for restart in model.restarts)
    counts = {
        "pod": pods,
        "new set": sum(len(model.rolls) for model in rolling),
        "endpoint picker": sum(len(model.pickers) for model in rolling),
    }
    told = ", ".join(counted(count, noun) for noun, count in counts.items() if count)
    print_line(f"pods that roll since {commit[:_DIGITS]}: {told}")
    for model in rolling:
        print_line(f"  {model.deployment}")
        for line in model.told:
            print_line(f"    {line}")


def rolling_values(compared: StackDigest, commit: str) -> dict[str, Any]:
    """Return the same as values for JSON."""
    return {
        "commit": commit,
        "compared": compared.state not in WITHOUT_BASE,
        "deployments": [
            {
                "deployment": model.deployment,
                "restarts": [asdict(restart) for restart in model.restarts],
                "newSets": [asdict(roll) for roll in model.rolls],
                "pickers": [asdict(picker) for picker in model.pickers],
            }
            for model in _rolling(compared)
        ],
    }


def _rolling(compared: StackDigest) -> list[ModelChange]:
    """Return the deployments of which anything rolls, the others only move, come or go."""
    return [model for model in compared.models if model.restarts or model.rolls or model.pickers]
