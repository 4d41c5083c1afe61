"""Where the sandbox keeps its files: one folder per stack in the checkout, and one cache per user."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from inferfleet.documents.loading.project import StackFiles
from sandbox.problem import SandboxProblem

PROJECT_FILE = "Pulumi.yaml"
# The folder of the simulated cloud in that of a stack.
CLOUD = "cloud"
# The folder in a checkout with everything of its sandboxes.
SANDBOX = ".sandbox"


def project_root(start: Path | None = None) -> Path:
    """Return the nearest folder at or above `start` (default: the working directory) with a Pulumi.yaml."""
    begin = (start or Path.cwd()).resolve()
    for folder in (begin, *begin.parents):
        if (folder / PROJECT_FILE).is_file():
            return folder
    raise SandboxProblem(
        f"no {PROJECT_FILE} in {begin} or above it. Run this inside a checkout of the project."
    )


def cache_folder() -> Path:
    """Return the user's cache of inferfleet, which holds built programs, reserved ports and locks."""
    home = os.environ.get("XDG_CACHE_HOME") or ""
    base = Path(home) if home.startswith("/") else Path.home() / ".cache"
    return base / "inferfleet"


@dataclass(frozen=True)
class StackPlaces:
    """The folders of one stack's sandbox. Deleting `folder` deletes its clusters together with its state."""

    root: Path
    stack: str

    def __post_init__(self) -> None:
        # Pulumi's rule for stack names, without `.` and `..`.
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", self.stack):
            raise SandboxProblem(
                f"stack {self.stack!r} is not a stack name: letters, digits, '-', '_' and '.', at most 100. "
                "Pass --stack NAME."
            )

    @property
    def folder(self) -> Path:
        """The folder with everything of the stack's sandbox but its lock and reservations."""
        return self.root.resolve() / SANDBOX / self.stack

    @property
    def kwok(self) -> Path:
        """kwokctl's working folder: data, certificates, logs and process ids of each cluster."""
        return self.folder / "kwok"

    @property
    def state(self) -> Path:
        """The Pulumi backend."""
        return self.folder / "state"

    @property
    def pulumi_home(self) -> Path:
        """The sandbox's own Pulumi home, with its plugins."""
        return self.folder / "pulumi-home"

    @property
    def hub(self) -> Path:
        """What stands in for the Hugging Face Hub: its repositories, what is wrong with it, its requests."""
        return self.folder / "hub"

    @property
    def cloud(self) -> Path:
        """The simulated Google Cloud: what exists there, its certificates and its programs."""
        return self.folder / CLOUD

    @property
    def vllm(self) -> Path:
        """The folder that a stack has whose pods get vLLM itself (see vllm/)."""
        return self.folder / "vllm"

    @property
    def leader_worker_sets(self) -> Path:
        """The file with which the stack's clusters have the LeaderWorkerSet controller (see lws/)."""
        return self.folder / "leader-worker-sets"

    @property
    def secrets(self) -> Path:
        """The passphrase and salt of the stack, apart from `folder`: `down` may keep them."""
        return self.root.resolve() / SANDBOX / ".secrets" / self.stack

    @property
    def passphrase(self) -> Path:
        """The file with the passphrase of the stack's secrets."""
        return self.secrets / "passphrase"

    @property
    def salt(self) -> Path:
        """The file with the `encryptionsalt` that Pulumi would keep in the settings."""
        return self.secrets / "encryptionsalt"

    @property
    def settings(self) -> Path:
        """Pulumi's file with the settings of the stack."""
        return StackFiles(self.root, self.stack).config_file

    @property
    def programs(self) -> Path:
        """The folder for the PATH with `pulumi` as it is run on this stack."""
        return self.folder / "path"

    @property
    def lock(self) -> Path:
        """The lock file of the stack, outside `folder`, which `down` removes while it holds the lock."""
        digest = hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]
        return cache_folder() / "locks" / f"stack-{digest}"

    def cluster_name(self, cluster: str) -> str:
        """Return kwokctl's name for the cluster, which is different in every checkout and stack."""
        digest = hashlib.sha256(str(self.folder).encode()).hexdigest()[:6]
        return f"inferfleet-{digest}-{cluster}"

    def cluster_folder(self, cluster: str) -> Path:
        """Return the folder with everything of one cluster."""
        return self.kwok / "clusters" / self.cluster_name(cluster)

    def holds(self, path: Path) -> bool:
        """Return whether the resolved path is in this stack's folder, so that the sandbox may write it."""
        return self.folder in path.resolve().parents
