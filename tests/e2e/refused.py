"""Models whose endpoint pickers refuse what they are given, and one that is only slow."""

from dataclasses import dataclass
from subprocess import CompletedProcess
from typing import Any

import documents
from asking import until
from documents import Document, annotated, model
from project import Project, Run

STACK = "refused"
GARBLED = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "plugins": [{"type": "queue-scorer"}, {"type": "queue-scorer"}],
}
# What pickers are given, and what they say to it, word by word.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unsigned": (
        {"flags": {"cert-path": "/nosuch"}},
        "failed to create self signed certificate - open /nosuch/tls.crt: no such file or directory",
    ),
    "garbled": (
        {"config": GARBLED},
        "failed to load the configuration - plugin instantiation failed: "
        "duplicate plugin name 'queue-scorer'",
    ),
    "strange": (
        {"image": "docker.io/example/epp:v9"},
        'Container image "docker.io/example/epp:v9" is not in the sandbox',
    ),
}
# Seconds: long after an update that does not wait for it, and before one gives pickers up.
LOADING = 90


def slow(version: str) -> dict[str, Any]:
    image = f"docker.io/vllm/vllm-openai:{version}"
    return annotated(model("slow", on="west", gpu="NVIDIA L4", image=image), startup=f"{LOADING}s")


def cluster() -> Document:
    return documents.cluster("west", stack=STACK, pools={"l4": ("nvidia-l4-4x", 1)})


@dataclass(frozen=True)
class Course:
    """What happened to them: an update in which all pickers had their three minutes, and then one that does
    not wait for the slow model, which has another image.
    """

    failed: Run
    broken: dict[str, str]
    applied: Run
    meanwhile: CompletedProcess[str]


def course(project: Project) -> Course:
    project.write("models", *(model(name, on="west", picker=one) for name, (one, _) in REFUSED.items()))
    project.write("slow", slow("v0.32.0"))
    failed = project.up()
    broken = project.broken("west")

    project.write("models")
    project.write("slow", slow("v0.33.0"))
    project.configure(await_="applied", locked=False)
    applied = project.up()
    meanwhile = _status(project)
    until("the slow model is ready", lambda: _status(project).returncode == 0, every=3)
    return Course(failed, broken, applied, meanwhile)


def _status(project: Project) -> CompletedProcess[str]:
    return project.cli("status", "--stack", project.stack)
