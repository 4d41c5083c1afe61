"""Writes docs/conformance.md: what came of the conformance suites, beside what others published.

python bench/conformance_page.py > docs/conformance.md
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import conformance_notes as notes
from bench.conformance_reports import (
    CORE,
    FEATURES,
    GKE,
    GKE_INFERENCE_REPORT,
    GKE_REPORT,
    GKE_UNCOUNTED,
    ISTIO,
    ISTIO_INFERENCE_REPORT,
    ISTIO_REPORT,
)
from sandbox.istio import injection
from sandbox.toolchain.parts import GATEWAY_CONFORMANCE, INFERENCE_CONFORMANCE
from sandbox.toolchain.parts import ISTIO as ISTIO_PART

RESULTS = Path(__file__).with_name("conformance.json")
_GATEWAY, _INFERENCE = GATEWAY_CONFORMANCE.name, INFERENCE_CONFORMANCE.name
_WORDS = {"PASS": "yes", "FAIL": "**no**", "SKIP": "-", None: "-"}


def page(results: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    return "\n".join([*_head(results), "", *_gateway(results), "", *_inference(results), "", *_notes(), ""])


def asked(needs: Mapping[str, list[str]]) -> list[str]:
    """Return the tests of which every feature is one that some report has."""
    return sorted(test for test, features in needs.items() if set(features) <= set(FEATURES))


def published(needs: list[str], having: frozenset[str], uncounted: frozenset[str] = frozenset()) -> str:
    """Return what a report says of a test: neither report has a failed test, or one that was left out.

    Tests of `uncounted` features are in none of its figures.
    """
    missing = sorted(set(needs) - CORE - having)
    if missing:
        return f"no {missing[0]}"
    return "not counted" if uncounted & set(needs) else "yes"


def days(dates: Mapping[str, Mapping[str, str]]) -> str:
    """Return the days of the runs, by suite and gateway: from the first to the last."""
    every = sorted(day for of_suite in dates.values() for day in of_suite.values())
    return every[0] if every[0] == every[-1] else f"{every[0]} to {every[-1]}"


def _head(results: Mapping[str, Any]) -> Iterator[str]:
    yield from f"""# Conformance of gateways

What the conformance suites of the [Gateway API](https://gateway-api.sigs.k8s.io/concepts/conformance/) and of
its [inference extension](https://gateway-api-inference-extension.sigs.k8s.io/) say of the gateways of the
sandbox, beside what Istio and Google published of theirs. `make conformance` runs them and writes this page.

The suites are the published programs of v{GATEWAY_CONFORMANCE.version} (profile GATEWAY-HTTP), the version of
the definitions that the sandbox's clusters have, and of v{INFERENCE_CONFORMANCE.version}. Their pods run the
suites' own server and picker. Run on {days(results["dates"])}.

* **Istio** is istiod of a commit of 2026-08-27 on the way to {ISTIO_PART.version}, with the API of
  {injection.TAG}, as the sandbox runs it: with an ordinary Envoy, and without Istio's own agent.
* **Built-in** is the [sandbox's own gateway](../sandbox/README.md#the-data-plane), as it serves class
  `inferfleet-sandbox`, and as it serves Google's classes (`gke-l7-...`).
* **Published** are the reports of [Istio 1.30.5]({ISTIO_REPORT})
  and [GKE 1.35.2]({GKE_REPORT}),
  both of Gateway API v1.5. A report names the optional features that a gateway has; tests of others are left
  out of its run. Neither names a failed test.
""".splitlines()


def _gateway(results: Mapping[str, Any]) -> Iterator[str]:
    needs = results["needs"][_GATEWAY]
    tests = asked(needs)
    others = len(needs) - len(tests)
    yield "## Gateway API"
    yield ""
    yield (
        f"{len(tests)} tests. The {others} others of the suite are about kinds of routes that we do not "
        "write, meshes, and features that neither report has."
    )
    yield ""
    yield "| test | Istio published | Istio here | GKE published | built-in, Google's classes | built-in |"
    yield "|---|---|---|---|---|---|"
    for test in tests:
        row = [published(needs[test], ISTIO), _word(results, _GATEWAY, "istio", test)]
        row += [published(needs[test], GKE, GKE_UNCOUNTED), _word(results, _GATEWAY, "built-in-gke", test)]
        row += [_word(results, _GATEWAY, "built-in", test)]
        yield f"| {test} | {' | '.join(row)} |"


def _inference(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## Inference extension"
    yield ""
    yield (
        f"All tests of their time succeeded at [Istio 1.30.1]({ISTIO_INFERENCE_REPORT}) (13 of v1.5.0) and "
        f"at [GKE 1.32.4]({GKE_INFERENCE_REPORT}) (9 of v0.5.0)."
    )
    yield ""
    yield "| test | Istio here | built-in, Google's classes | built-in |"
    yield "|---|---|---|---|"
    for test in sorted(results["needs"][_INFERENCE]):
        row = [_word(results, _INFERENCE, name, test) for name in ("istio", "built-in-gke", "built-in")]
        yield f"| {test} | {' | '.join(row)} |"


def _notes() -> Iterator[str]:
    yield "## What the differences are"
    yield ""
    yield from notes.TEXT.strip().splitlines()


def _word(results: Mapping[str, Any], suite: str, gateway: str, test: str) -> str:
    return _WORDS[results[suite].get(gateway, {}).get(test)]


if __name__ == "__main__":
    print(page(json.loads(RESULTS.read_text())), end="")
