"""Runs conformance suites, of the Gateway API and its inference extension, against gateways of the sandbox.

    python bench/conformance.py                                   # both suites, all gateways: an hour
    python bench/conformance.py --gateway istio --test HTTPRouteWeight

The suites are the published programs (parts of the toolchain, built when missing), and so is the server that
their pods run. Each gateway has a cluster of its own. What came of every test, and the day, replaces what a
file of JSON has of the gateway, and `python bench/conformance_page.py` makes docs/conformance.md of it; a run
of one test writes nothing. What came out otherwise than the file had it is printed at the end, with code 1.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.conformance_reports import BUILT_IN, CORE, GKE, ISTIO
from inferfleet.documents import load
from sandbox import clusters
from sandbox.orphans.owner import claim
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import EPP, GATEWAY_CONFORMANCE, INFERENCE_CONFORMANCE
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import Tools, make_tools

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "conformance.json"
LOGS = Path(tempfile.gettempdir()) / "inferfleet-conformance"
STACK = "conformance"
# The readiness of this Gateway of the suite's is not waited for by a suite that is told so (the constant
# GatewayExcludedFromReadinessChecks in its utils/kubernetes): a gateway without HTTPS never serves it.
_NOT_AWAITED = "gateway-api/skip-this-for-readiness"
_HTTPS_GATEWAY = "same-namespace-with-https-listener"
_ENDED = re.compile(r"^ *--- (PASS|FAIL|SKIP): TestConformance/([^/\s]+) \(([\d.]+)s\)$")


@dataclass(frozen=True)
class Served:
    """A gateway under test: a class of Gateways, who serves it, and the optional features to ask for.

    `https` says that it knows HTTPS at all. `patience` are the seconds that a test waits for what never
    comes; None is the suite's own time.
    """

    name: str
    class_name: str
    provider: str
    features: frozenset[str]
    https: bool = True
    patience: int | None = None


GATEWAYS = (
    Served("istio", "istio", "istio", ISTIO | GKE),
    Served("built-in", "inferfleet-sandbox", "none", BUILT_IN, https=False, patience=15),
    Served("built-in-gke", "gke-l7-regional-external-managed", "gke", BUILT_IN, https=False, patience=15),
)


def main() -> None:
    arguments = _arguments()
    changed: list[str] = []
    wanted = [gateway for gateway in GATEWAYS if gateway.name in (arguments.gateway or [gateway.name])]
    try:
        for suite in (GATEWAY_CONFORMANCE, INFERENCE_CONFORMANCE):
            if arguments.suite in (None, suite.name):
                for gateway in wanted:
                    with _cluster(gateway) as (tools, kubeconfig):
                        needs = _needs(tools, suite.name)
                        found = _run(suite.name, gateway, tools, kubeconfig, test=arguments.test)
                    # Only now: another run may have written meanwhile.
                    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
                    before = results.get(suite.name, {}).get(gateway.name, {})
                    changed += differences(before, found, test=arguments.test, where=gateway.name)
                    if not arguments.test:
                        results = replaced(results, suite.name, gateway.name, needs=needs, found=found)
                        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    except SandboxProblem as problem:
        sys.exit(str(problem))
    if changed:
        sys.exit("\n".join(["not as in bench/conformance.json before:", *changed]))


def outcomes(lines: Iterable[str]) -> dict[str, str]:
    """Return what came of each test of a suite, by the lines that it prints: PASS, FAIL or SKIP."""
    return {ended[2]: ended[1] for line in lines if (ended := _ENDED.match(line.rstrip("\n")))}


def differences(
    before: Mapping[str, str], found: Mapping[str, str], *, test: str | None, where: str
) -> list[str]:
    """Return a line for each test that came out otherwise than before, of `test` alone if it is named."""
    names = {test} if test else before.keys() | found.keys()
    return [
        f"  {where} {name}: was {before.get(name, 'not run')}, is {found.get(name, 'not run')}"
        for name in sorted(names)
        if before.get(name) != found.get(name)
    ]


def replaced(
    results: Mapping[str, Any],
    suite: str,
    gateway: str,
    *,
    needs: Mapping[str, list[str]],
    found: Mapping[str, str],
) -> dict[str, Any]:
    """Return the results with those of one run, of today, in place of the earlier ones of its gateway."""
    today = datetime.now(UTC).date().isoformat()
    dates = results.get("dates", {})
    return {
        **results,
        "needs": {**results.get("needs", {}), suite: needs},
        "dates": {**dates, suite: {**dates.get(suite, {}), gateway: today}},
        suite: {**results.get(suite, {}), gateway: found},
    }


@contextmanager
def _cluster(gateway: Served) -> Iterator[tuple[Tools, Path]]:
    """Yield the toolchain, and the kubeconfig of a cluster whose Gateways this one serves."""
    make_tools(Progress(), (EPP, GATEWAY_CONFORMANCE, INFERENCE_CONFORMANCE))
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        root = Path(folder)
        documents = root / "stacks" / STACK
        documents.mkdir(parents=True)
        shutil.copy(ROOT / "Pulumi.yaml", root)
        (documents / "clusters.yaml").write_text(yaml.safe_dump(_document(gateway)))
        claim(StackPlaces(root, STACK), os.getpid())
        try:
            tools = clusters.up(root, STACK, load([documents], catalogue=ROOT / "classes"))
            yield tools, root / ".sandbox" / STACK / "one.kubeconfig"
        finally:
            clusters.down(root, STACK)


def _document(gateway: Served) -> dict[str, Any]:
    path = f"../../.sandbox/{STACK}/one.kubeconfig"
    return {
        "apiVersion": "inferfleet.dev/v1alpha1",
        "kind": "InferenceCluster",
        "metadata": {"name": "one"},
        "spec": {
            "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": path}}},
            "nodePools": [{"name": "l4", "className": "nvidia-l4-4x", "nodeCount": 2}],
            "serving": {"gateway": {"className": gateway.class_name, "provider": gateway.provider}},
        },
    }


def _rules(kubeconfig: Path, tools: Tools) -> None:
    """Let Istio take the certificates that pickers sign themselves, as the suite's own run on Istio does.

    Source: conformance/scripts/istio/Makefile of gateway-api-inference-extension, TLS_DESTINATION_RULES.
    """
    space = "inference-conformance-app-backend"
    pools = ("primary", "secondary", "appprotocol-http", "appprotocol-h2c", "dp")
    tls = {"mode": "SIMPLE", "insecureSkipVerify": True}
    rules = [
        {
            "apiVersion": "networking.istio.io/v1",
            "kind": "DestinationRule",
            "metadata": {"name": f"{pool}-picker", "namespace": space},
            "spec": {"host": f"{pool}-endpoint-picker-svc", "trafficPolicy": {"tls": tls}},
        }
        for pool in pools
    ]
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}, *rules]
    command = [str(tools.program("kubectl")), "--kubeconfig", str(kubeconfig), "apply", "-f", "-"]
    subprocess.run(
        command, input=yaml.safe_dump_all(objects), text=True, check=True, stdout=subprocess.DEVNULL
    )


def _needs(tools: Tools, suite: str) -> dict[str, list[str]]:
    """Return the features that each test of the suite needs."""
    printed = subprocess.run([tools.program(suite), "--list"], capture_output=True, text=True, check=True)
    needs: dict[str, list[str]] = json.loads(printed.stdout)
    return needs


def _run(suite: str, gateway: Served, tools: Tools, kubeconfig: Path, *, test: str | None) -> dict[str, str]:
    """Run a suite and return what came of each test."""
    LOGS.mkdir(exist_ok=True)
    log = LOGS / f"{suite}-{gateway.name}.log"
    if suite == INFERENCE_CONFORMANCE.name and gateway.provider == "istio":
        _rules(kubeconfig, tools)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(tools.program(suite)), "-test.v", "-test.timeout=90m"]
        command += [f"--gateway-class={gateway.class_name}", "--allow-crds-mismatch"]
        if suite == GATEWAY_CONFORMANCE.name:
            features = ",".join(sorted(CORE | gateway.features))
            command += ["--conformance-profiles=GATEWAY-HTTP", f"--supported-features={features}"]
            if not gateway.https:
                command += [f"--extra-manifests={_with_https_not_awaited(Path(folder), tools)}"]
        if gateway.patience:
            command += [f"--patience={gateway.patience}s"]
        if test:
            command += [f"--run-test={test}"]
        with open(log, "w") as file:
            environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
            subprocess.run(command, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False)
    with open(log) as file:
        found = outcomes(file)
    print(f"{suite} {gateway.name}: {dict(Counter(found.values()))}, log {log}", flush=True)
    if not found:
        raise SandboxProblem(f"{suite} {gateway.name}: no test has ended; {log} says why")
    return found


def _with_https_not_awaited(folder: Path, tools: Tools) -> Path:
    """Return the folder with the Gateway of the suite's manifests that is not to be waited for."""
    manifests = tools.folder(GATEWAY_CONFORMANCE.name) / "gateway-conformance-base" / "manifests.yaml"
    [gateway] = [
        manifest
        for manifest in yaml.safe_load_all(manifests.read_text())
        if manifest and manifest["metadata"]["name"] == _HTTPS_GATEWAY
    ]
    gateway["metadata"]["annotations"] = {_NOT_AWAITED: "true"}
    (folder / "base").mkdir()
    (folder / "base" / "manifests.yaml").write_text(f"---\n{yaml.safe_dump(gateway)}")
    return folder


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Runs the conformance suites against gateways of the sandbox."
    )
    parser.add_argument("--gateway", action="append", choices=[gateway.name for gateway in GATEWAYS])
    parser.add_argument("--suite", choices=[GATEWAY_CONFORMANCE.name, INFERENCE_CONFORMANCE.name])
    parser.add_argument("--test", help="one test by its name, as the suites have it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
