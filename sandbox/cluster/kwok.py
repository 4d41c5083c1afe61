"""One simulated cluster: real API server, scheduler and controller-manager, and kwok in place of kubelets."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from sandbox.cluster import podnet, ports, seeds
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.stages import stages
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.processes import Process, end_processes, processes_in
from sandbox.toolchain.tools import Tools

Condition = Literal["running", "stopped", "missing"]

# Program of each component, by kwokctl's name for the component.
COMPONENTS = {
    "etcd": "etcd",
    "kube-apiserver": "kube-apiserver",
    "kube-controller-manager": "kube-controller-manager",
    "kube-scheduler": "kube-scheduler",
    "kwok-controller": "kwok",
}
# All but those that write addresses of pods: the API server refuses addresses of 127.0.0.0/8, and they would
# try again and again, with a warning each time.
_CONTROLLERS = "*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller"
# Written when a cluster was created completely; what lies there without it is the rest of a broken attempt.
COMPLETE = "complete"
# Of the stack's kwok folder: what kwokctl reads and writes on the way.
SCRATCH = "scratch"
ATTEMPTS = 3
_ERROR = re.compile(r"^[EF]\d{4} |address already in use|\"level\":\"(fatal|error)\"|^Error:")


@dataclass(frozen=True)
class Access:
    """Certificates and tokens that several clusters share: a folder with ca, admin (.crt, .key), and a file
    of lines `token,user,uid,"groups"`.
    """

    pki: Path
    tokens: Path


@dataclass(frozen=True)
class KwokCluster:
    """A cluster by the name its document has, whether it exists or not."""

    places: StackPlaces
    name: str

    @property
    def folder(self) -> Path:
        return self.places.cluster_folder(self.name)

    def processes(self) -> tuple[Process, ...]:
        return processes_in(self.folder)

    def condition(self, *, complete: bool = True) -> Condition:
        """Missing, unless it was created to the end (`complete=False`: as far as its processes say)."""
        if complete and not (self.folder / COMPLETE).exists():
            return "missing"
        running = {process.program.name for process in self.processes()}
        return "running" if running >= set(COMPONENTS) else "stopped"

    def create(self, tools: Tools, *, crds: tuple[Path, ...], access: Access | None = None) -> None:
        """A fresh cluster that answers, with what these files define if it has a seed.

        Tries other ports when another program took one meanwhile, and without a seed that does not start.
        """
        avoid: frozenset[int] = frozenset()
        seed, sound = seeds.seed(tools, crds), True
        for attempt in range(1, ATTEMPTS + 1):
            self.delete()
            self.places.kwok.mkdir(parents=True, exist_ok=True, mode=0o700)
            first = ports.reserve(self.folder, avoid=avoid)
            if access is not None:
                # kwokctl makes no certificates where there are some.
                shutil.copytree(access.pki, self.folder / "pki")
            seeded = sound and seeds.plant(seed, self.folder)
            why = self._create_once(tools, first, access)
            if not why:
                (self.folder / COMPLETE).touch()
                return
            in_use = "address already in use" in why
            if seeded and not in_use:
                seeds.discard(seed)
                sound = False
            if attempt == ATTEMPTS or not (in_use or seeded):
                raise SandboxProblem(
                    f"cluster {self.name} cannot be created:\n  {why}\n"
                    "Run the same command again; `inferfleet sandbox down` removes what is there."
                )
            if in_use:
                avoid |= {first}

    def start(self, tools: Tools) -> None:
        """The same cluster with the same data, answering again."""
        end_processes(self.folder)  # of one that runs in part
        for record in (self.folder / "pids").glob("*.pid"):
            record.unlink()  # kwokctl trusts them, but after a reboot the numbers are other programs'
        for component, program in COMPONENTS.items():
            link = self.folder / "bin" / component
            link.unlink(missing_ok=True)
            link.symlink_to(tools.program(program))
        taken = [port for port in ports.numbers(self._first_port()).values() if not ports.free(port)]
        if taken:
            raise SandboxProblem(
                f"cluster {self.name} cannot start: its port {taken[0]} is used by another program. "
                "End that program, or run `inferfleet sandbox down` and `up` for a new cluster."
            )
        why = self._kwokctl(tools, ["start", "cluster", "--wait", "120s"])
        if why:
            raise SandboxProblem(
                f"cluster {self.name} cannot be started:\n  {why}\n"
                "Run the same command again, or `inferfleet sandbox down` and `up` for a new cluster."
            )

    def stop(self) -> int:
        """Ends its processes and keeps its data. Returns how many processes there were."""
        return end_processes(self.folder)

    def delete(self) -> None:
        """Ends its processes, removes its data and gives its ports and addresses back."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        ports.release(self.folder)
        podnet.release(self.folder)

    def kubectl(self, tools: Tools) -> Kubectl:
        """By its own access: the kubeconfig of the document may be somebody's experiment."""
        return Kubectl(tools, self.folder / "kubeconfig.yaml")

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{ports.numbers(self._first_port())['kubeApiserverPort']}"

    @property
    def etcd_port(self) -> int:
        return ports.numbers(self._first_port())["etcdPort"]

    def _first_port(self) -> int:
        """From the cluster's own configuration: the reservation may have gone with the cache."""
        for document in yaml.safe_load_all((self.folder / "kwok.yaml").read_text()):
            if isinstance(document, dict) and document.get("kind") == "KwokctlConfiguration":
                return int(document["options"][ports.NAMES[0]])
        raise SandboxProblem(f"cluster {self.name} is damaged. Run `inferfleet sandbox down`, then `up`.")

    def _create_once(self, tools: Tools, first: int, access: Access | None) -> str:
        """Why it did not work, "" when it did."""
        options = {
            # Certificates protect the API server, but nothing protects etcd: stay on this machine.
            "bindAddress": "127.0.0.1",
            "disableQPSLimits": True,
            "kubectlBinary": str(tools.program("kubectl")),
            **{
                # etcdBinary, kubeApiserverBinary, ...
                "".join(word.capitalize() if i else word for i, word in enumerate(component.split("-")))
                + "Binary": str(tools.program(program))
                for component, program in COMPONENTS.items()
            },
            **ports.numbers(first),
        }
        config = {
            "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
            "kind": "KwokctlConfiguration",
            "options": options,
        }
        scratch = self.places.kwok / SCRATCH
        scratch.mkdir(parents=True, exist_ok=True)
        file = scratch / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump_all([config, *stages()]))
        command = ["create", "cluster", "--runtime", "binary", "--config", str(file), "--wait", "120s"]
        # Without --kubeconfig it would write into the user's own.
        command += ["--kubeconfig", str(scratch / f"{self.name}.kubeconfig")]
        # A power cut may cost the sandbox its data; waiting for the disk would cost time always.
        command += ["--extra-args", "etcd=unsafe-no-fsync=true"]
        # A component that was killed left its lease behind: its successor would wait for it to expire, and
        # for up to 200 s after the start of a stopped cluster no pod would be placed, run or end.
        command += ["--node-lease-duration-seconds", "0"]
        for elected in ("kube-scheduler", "kube-controller-manager"):
            command += ["--extra-args", f"{elected}=leader-elect=false"]
        command += ["--extra-args", f"kube-controller-manager=controllers={_CONTROLLERS}"]
        if access is not None:
            command += ["--extra-args", f"kube-apiserver=token-auth-file={access.tokens}"]
        return self._kwokctl(tools, command)

    def _kwokctl(self, tools: Tools, command: list[str]) -> str:
        """Runs it and waits until the API server is ready. Why that did not work, "" when it did."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("KWOK_")}
        environment = {
            **own,
            "PATH": tools.path,
            "KWOK_WORKDIR": str(self.places.kwok),
            # Of each component: garbage is collected seldom, but for this limit. An API server would grow to
            # twice of it with CRDs alone.
            "GOMEMLIMIT": "400MiB",
            "GOGC": "400",
            # With more threads than that they spend a fifth of their time at rest on waking one another.
            "GOMAXPROCS": "1",
        }
        # By a name inside the sandbox: one that outlives its caller is found, and ended, like a cluster.
        kwokctl = self.places.kwok / SCRATCH / f"kwokctl-{self.name}"
        kwokctl.parent.mkdir(parents=True, exist_ok=True)
        kwokctl.unlink(missing_ok=True)
        kwokctl.symlink_to(tools.program("kwokctl"))
        done = subprocess.run(
            [str(kwokctl), *command, "--name", self.places.cluster_name(self.name)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 and self.condition(complete=False) == "running":
            return ""
        said = done.stderr.strip().splitlines()[-3:]
        for log in sorted((self.folder / "logs").glob("*.log")):
            bad = [line for line in log.read_text(errors="replace").splitlines() if _ERROR.search(line)]
            said += [f"{log.stem}: {line}" for line in bad[-2:]]
        return "\n  ".join(line[:300] for line in said) or "its components ended at once"
