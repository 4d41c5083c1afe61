"""Try inferfleet on Google Cloud: the smallest cluster, one L4, one model, one answer, and back to nothing.

    make smoke PROJECT=acme-inference [REGION=us-east4 ZONE=us-east4-a] [YES=1]

A project is made in a folder, which keeps its state. What it costs is said before anything is made, and
somebody agrees. Everything is removed afterwards, also where something fails or is interrupted in between.
Where something is left all the same, the same command removes it: the folder is needed for that.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import yaml

STACK = "smoke"
LOCK = "placement.lock"
QUESTION = "What is a gateway?"
Run = Callable[..., int]
CLUSTERS = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {{name: smoke}}
spec:
  cluster:
    source: GKE
    gke:
      project: {project}
      region: {region}
      zones: [{zone}]
      systemPool: {{machineType: e2-standard-4, diskSizeGb: 50}}
      deletionProtection: false
  nodePools:
    - {{name: l4, className: gke-l4-1x-g2, minNodeCount: 0, maxNodeCount: 1, zones: [{zone}]}}
  serving:
    gateway: {{className: gke-l7-rilb, provider: gke, port: 8080}}
"""
MODELS = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: qwen3, namespace: ml, labels: {family: qwen}}
spec:
  replicas: 1
  engine: {type: vLLM, model: Qwen/Qwen3-0.6B, servedNames: [chat], startup: 30m}
  workers: {topology: {tensor: 1}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: ModelService
metadata: {name: chat, namespace: ml}
spec:
  endpoints:
    - {selector: {matchLabels: {family: qwen}}}
"""
SETTINGS = "config:\n  pulumi:disable-default-providers: [kubernetes, gcp]\n"
# USD per hour, list prices with their sources in docs/tutorials/first-model-on-gke.md, 2026-11-24.
BESIDE = (
    ("one system node, e2-standard-4", "0.1509"),
    ("boot disks, 250 GB", "0.038"),
    ("the cluster", "0.10"),
    ("NAT of two nodes and one address, and 0.045 per GiB", "0.0078"),
    ("the load balancer of the gateway", ""),
)


def smoke(run: Run, *, first: bool) -> bool:
    """Deploy, ask, remove; return whether an answer came and nothing is left.

    `run` gives the exit code of a command. Where `doctor` finds that something is missing nothing is made,
    and what a former try left is removed: `doctor` may refuse because of that. On the `first` try of a folder
    nothing may be there: what is left then is of a folder that is gone, and no state knows of it.
    """
    if run("pulumi", "stack", "select", "--create", STACK):
        return False
    if run("inferfleet", "doctor", "--stack", STACK):
        if run("inferfleet", "doctor", "--stack", STACK, "--leftovers"):
            remove(run)
        return False
    if first and run("inferfleet", "doctor", "--stack", STACK, "--leftovers"):
        print("This folder has made nothing yet: what is named above is of a try whose folder is gone, or")
        print("could not be looked at. Remove it, or mend that, and run this again.")
        return False
    answered = False
    try:
        answered = not (
            run("pulumi", "up", "--stack", STACK, "--yes", "--skip-preview")
            or run("inferfleet", "chat", "--stack", STACK, "chat", QUESTION)
        )
    finally:
        removed = remove(run)
    return answered and removed


def remove(run: Run) -> bool:
    """Remove everything; return whether nothing is left. A second try mends what was interrupted."""
    for attempt in (1, 2):
        if attempt == 2:
            run("inferfleet", "recover", "--stack", STACK, "--yes")
        destroyed = not run("pulumi", "destroy", "--stack", STACK, "--yes", "--skip-preview")
        if not run("inferfleet", "doctor", "--stack", STACK, "--leftovers") and destroyed:
            return True
    return False


def former(folder: Path) -> dict[str, str] | None:
    """Return where a former try of the folder made something, None where it is all removed."""
    stack = folder / "stacks" / STACK
    # An update writes its lock before it makes anything.
    if not (stack / LOCK).exists():
        return None
    gke = yaml.safe_load((stack / "clusters.yaml").read_text())["spec"]["cluster"]["gke"]
    return {"project": gke["project"], "region": gke["region"], "zone": gke["zones"][0]}


def write(folder: Path, *, project: str, region: str, zone: str) -> None:
    """Write the documents and settings of the stack into a project of its own."""
    if not folder.exists():
        command = Path(sys.executable).with_name("inferfleet")
        subprocess.run([command, "new", folder, "--name", "inferfleet-smoke"], check=True)
        (folder / ".venv").symlink_to(Path(sys.prefix).absolute())
    stack = folder / "stacks" / STACK
    stack.mkdir(exist_ok=True)
    (stack / "clusters.yaml").write_text(CLUSTERS.format(project=project, region=region, zone=zone))
    (stack / "models.yaml").write_text(MODELS)
    settings = stack.with_name(f"Pulumi.{STACK}.yaml")
    # The engine adds how secrets are encrypted, which a second run needs.
    if not settings.exists():
        settings.write_text(SETTINGS)


def environment(folder: Path, outside: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of all commands: the state is in the folder, encrypted, unless it says where."""
    # In CI an update would need a committed lock.
    outside = {name: value for name, value in outside.items() if name != "CI"}
    if "PULUMI_BACKEND_URL" in outside:
        return outside
    state, passphrase = folder / ".state", folder / ".passphrase"
    state.mkdir(exist_ok=True)
    if not passphrase.exists():
        passphrase.touch(mode=0o600)
        passphrase.write_text(secrets.token_hex(32))
    backend = {"PULUMI_BACKEND_URL": state.as_uri(), "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase)}
    return outside | backend


def costs(folder: Path, env: Mapping[str, str]) -> str:
    """Return what an hour costs, of nodes with GPUs by the prices of their classes."""
    words = ["inferfleet", "report", "--stack", STACK, "--output", "report.html", "--json"]
    done = subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True, text=True)
    report: dict[str, Any] = json.loads(done.stdout)
    nodes = [(f"{paid['nodes']} x {paid['class_name']}", paid["cost"]) for paid in report["paid"]]
    rows = [*nodes, *BESIDE]
    total = sum(Decimal(price) for _, price in rows if price)
    rows.append(("in all, without what is not known", f"{total:.2f}"))
    return "\n".join(
        ["USD per hour, list prices:", *(f"  {price or '?':>9}  {what}" for what, price in rows)]
    )


def commands(folder: Path, env: Mapping[str, str]) -> Run:
    """Return what runs a command in the folder, and lets it end what it began when somebody interrupts it."""

    def run(*words: str) -> int:
        print("$", *words, flush=True)
        process = subprocess.Popen(words, cwd=folder, env=env)
        try:
            return process.wait()
        except KeyboardInterrupt:  # The command has it too.
            process.wait()
            raise
        except SystemExit:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise

    return run


def _end(*_: object) -> NoReturn:
    sys.exit(143)


def main() -> int:
    words = argparse.ArgumentParser(prog="make smoke")
    words.add_argument("--folder", type=Path, default=Path(".smoke"))
    words.add_argument("--project", required=True, help="of Google Cloud, with a billing account")
    words.add_argument("--region", default="us-east4")
    words.add_argument("--zone", default="us-east4-a")
    words.add_argument("--yes", action="store_true")
    asked = words.parse_args()
    if not shutil.which("pulumi"):
        words.error("there is no pulumi on the PATH: https://www.pulumi.com/docs/iac/download-install/")
    folder = asked.folder.absolute()
    place = {"project": asked.project, "region": asked.region, "zone": asked.zone}
    before = former(folder)
    if before not in (None, place):
        again = " ".join(f"{name.upper()}={value}" for name, value in before.items())
        words.error(f"a former try did not end well. Run it again, so that it is removed: make smoke {again}")
    write(folder, **place)
    env = environment(folder, os.environ)
    print(costs(folder, env))
    question = f"Make this in project {asked.project}, ask, and remove it? [y/N] "
    if not asked.yes and input(question).strip().lower() not in ("y", "yes"):
        return 1
    began = time.monotonic()
    # A terminal that closes must not leave what is billed.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _end)
    try:
        done = smoke(commands(folder, env), first=before is None)
    except (KeyboardInterrupt, SystemExit):
        done = False
    minutes = f"{(time.monotonic() - began) / 60:.0f} minutes"
    if done:
        print(f"An answer came, and nothing is left, after {minutes}.")
        (folder / "stacks" / STACK / LOCK).unlink(missing_ok=True)
        if (folder / ".state").exists():
            shutil.rmtree(folder)
        return 0
    print(f"This did not end well, after {minutes}.")
    if former(folder):
        print(f"If anything may be left, run the same again: {folder} knows what there is.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
