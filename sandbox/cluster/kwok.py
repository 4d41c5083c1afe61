"""Creates, starts and stops one simulated cluster: a real control plane with kwok in place of kubelets."""

import http.client
import os
import re
import shutil
import ssl
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from sandbox import https
from sandbox.cluster import podnet, ports, seeds
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok_stages import kwok_stages
from sandbox.inotify import instances, of_cluster
from sandbox.network import egress
from sandbox.network.pod_network import give, has_namespace
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.processes import Process, end_processes, processes_in
from sandbox.toolchain.tools import Tools

Condition = Literal["running", "stopped", "missing"]

# The program of each component, by kwokctl's name for the component.
COMPONENTS = {
    "etcd": "etcd",
    "kube-apiserver": "kube-apiserver",
    "kube-controller-manager": "kube-controller-manager",
    "kube-scheduler": "kube-scheduler",
    "kwok-controller": "kwok",
}
# Of a cluster whose pods have loopback addresses: all controllers but those that write addresses of pods. The
# API server refuses those of 127.0.0.0/8, and they would retry without end, with a warning each time.
_CONTROLLERS = "*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller"
# This file is written once a cluster is created completely. A folder without it is left of a failed attempt.
COMPLETE = "complete"
# The folder, inside the stack's kwok folder, of files that kwokctl needs only while it runs.
SCRATCH = "scratch"
ATTEMPTS = 3
START = ["start", "cluster"]
# A component waits some ten seconds for the API server and then ends, and the API server for etcd. On a busy
# machine that is not enough: what ended is started again, for so many seconds in all, this often at most.
READY_SECONDS = 300.0
STARTS = 12
# Seconds after which a port that is still taken is another program's.
PORTS_SECONDS = 5.0
_SERVER = {"etcd", "kube-apiserver"}
IN_USE = "address already in use"
_ERROR = re.compile(r"^[EF]\d{4} |" + IN_USE + r"|\"level\":\"(fatal|error)\"|^Error:")


@dataclass(frozen=True)
class Access:
    """Certificates and tokens that several clusters share.

    `pki` is a folder with the certificates and keys `ca` and `admin`; `tokens` is a file of lines
    `token,user,uid,"groups"`.
    """

    pki: Path
    tokens: Path


@dataclass(frozen=True)
class KwokCluster:
    """A simulated cluster, known by the name in its document, whether it exists or not."""

    places: StackPlaces
    name: str

    @property
    def folder(self) -> Path:
        """The folder with all data of the cluster."""
        return self.places.cluster_folder(self.name)

    def processes(self) -> tuple[Process, ...]:
        """Return the running processes of the cluster and its companions."""
        return processes_in(self.folder)

    def condition(self, *, complete: bool = True) -> Condition:
        """Return whether the cluster runs.

        One whose creation did not finish is missing, unless `complete` is False.
        """
        if complete and not (self.folder / COMPLETE).exists():
            return "missing"
        running = {process.program.name for process in self.processes()}
        return "running" if running >= set(COMPONENTS) else "stopped"

    def create(
        self, tools: Tools, *, crds: tuple[Path, ...], namespaced: bool, access: Access | None = None
    ) -> None:
        """Create a new cluster that answers, with the CRDs of these files in it if there is a seed of them.

        With `namespaced` its pods have a network namespace. Tries other ports when another program has taken
        one meanwhile, and tries without a seed that fails.
        """
        self._refuse_too_few_instances()
        avoid: frozenset[int] = frozenset()
        seed, use_seed = seeds.seed(tools, crds), True
        for attempt in range(1, ATTEMPTS + 1):
            self.delete()
            self.places.kwok.mkdir(parents=True, exist_ok=True, mode=0o700)
            first = ports.reserve(self.folder, avoid=avoid)
            if namespaced:
                give(self.folder)
            if access is not None:
                # kwokctl uses the certificates that are there already.
                shutil.copytree(access.pki, self.folder / "pki")
            seeded = use_seed and seeds.plant(seed, self.folder)
            why = self._create_once(tools, first, access)
            if not why:
                (self.folder / COMPLETE).touch()
                return
            in_use = IN_USE in why
            if seeded and not in_use:
                seeds.discard(seed)
                use_seed = False
            if attempt == ATTEMPTS or not (in_use or seeded):
                raise SandboxProblem(
                    f"cluster {self.name} cannot be created:\n  {why}\n"
                    "Run the same command again; `inferfleet sandbox down` removes what is there."
                )
            if in_use:
                avoid |= {first}

    def start(self, tools: Tools) -> None:
        """Start the stopped cluster with the data it had. Raises SandboxProblem."""
        self._refuse_too_few_instances()
        end_processes(self.folder)  # some components may still run
        for record in (self.folder / "pids").glob("*.pid"):
            record.unlink()  # kwokctl trusts them, but after a reboot they name other programs
        for component, program in COMPONENTS.items():
            link = self.folder / "bin" / component
            link.unlink(missing_ok=True)
            link.symlink_to(tools.program(program))
        taken = self._taken_ports()
        if taken:
            raise SandboxProblem(
                f"cluster {self.name} cannot start: its port {taken[0]} is used by another program. "
                "End that program, or run `inferfleet sandbox down` and `up` for a new cluster."
            )
        why = self._kwokctl(tools, START)
        if why:
            raise SandboxProblem(
                f"cluster {self.name} cannot be started:\n  {why}\n"
                "Run the same command again, or `inferfleet sandbox down` and `up` for a new cluster."
            )

    def stop(self) -> int:
        """End the cluster's processes, keep its data, and return how many processes there were."""
        return end_processes(self.folder)

    def delete(self) -> None:
        """End the cluster's processes, remove its data and give its ports and addresses back."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        ports.release(self.folder)
        podnet.release(self.folder)

    def kubectl(self, tools: Tools) -> Kubectl:
        """Return kubectl with kwokctl's kubeconfig: people may edit the one that the document names."""
        return Kubectl(tools, self.folder / "kubeconfig.yaml")

    def _refuse_too_few_instances(self) -> None:
        instances().refuse_too_few(of_cluster(), f"to start, cluster {self.name}")

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://127.0.0.1:{ports.numbers(self._first_port())['kubeApiserverPort']}"

    @property
    def etcd_port(self) -> int:
        """The port that etcd serves clients on."""
        return ports.numbers(self._first_port())["etcdPort"]

    def _taken_ports(self) -> list[int]:
        """Return the ports of the cluster that other programs have.

        A process that was killed is not found any more before the kernel has closed its sockets.
        """
        numbers, until = ports.numbers(self._first_port()).values(), time.monotonic() + PORTS_SECONDS
        while (taken := [port for port in numbers if not ports.free(port)]) and time.monotonic() < until:
            time.sleep(0.1)
        return taken

    @property
    def webhook_port(self) -> int:
        """The port on which webhooks of the cluster listen, if it has any."""
        return ports.webhooks(self._first_port())

    def _first_port(self) -> int:
        """Read the port block from the cluster's configuration: the reservation may be lost."""
        for document in yaml.safe_load_all((self.folder / "kwok.yaml").read_text()):
            if isinstance(document, dict) and document.get("kind") == "KwokctlConfiguration":
                return int(document["options"][ports.NAMES[0]])
        raise SandboxProblem(f"cluster {self.name} is damaged. Run `inferfleet sandbox down`, then `up`.")

    def _create_once(self, tools: Tools, first: int, access: Access | None) -> str:
        """Run `kwokctl create cluster`. Return why it failed, or ""."""
        options = {
            # Certificates protect the API server, but nothing protects etcd: listen on this machine only.
            "bindAddress": "127.0.0.1",
            "disableQPSLimits": True,
            "kubectlBinary": str(tools.program("kubectl")),
            **{
                # The keys are etcdBinary, kubeApiserverBinary and so on.
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
        file.write_text(yaml.safe_dump_all([config, *kwok_stages()]))
        command = ["create", "cluster", "--runtime", "binary", "--config", str(file)]
        # Without --kubeconfig kwokctl would write into the user's own kubeconfig.
        command += ["--kubeconfig", str(scratch / f"{self.name}.kubeconfig")]
        # The sandbox may lose its data in a power cut; waiting for the disk would cost time on every write.
        command += ["--extra-args", "etcd=unsafe-no-fsync=true"]
        # A killed component leaves its lease behind, and its successor would wait until that expires: for up
        # to 200 s after the start of a stopped cluster no pod would be scheduled, run or end.
        command += ["--node-lease-duration-seconds", "0"]
        for elected in ("kube-scheduler", "kube-controller-manager"):
            command += ["--extra-args", f"{elected}=leader-elect=false"]
        on_loopback = f"kube-controller-manager=controllers={_CONTROLLERS}"
        command += ["--extra-args", egress.flag(self.folder) if has_namespace(self.folder) else on_loopback]
        if has_namespace(self.folder):
            # Webhooks are asked at pods, because nothing here forwards cluster IPs.
            command += ["--extra-args", "kube-apiserver=enable-aggregator-routing=true"]
        if access is not None:
            command += ["--extra-args", f"kube-apiserver=token-auth-file={access.tokens}"]
        return self._kwokctl(tools, command)

    def _kwokctl(self, tools: Tools, command: list[str]) -> str:
        """Run kwokctl and wait until the cluster is ready. Return why that failed, or ""."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("KWOK_")}
        environment = {
            **own,
            "PATH": tools.path,
            "KWOK_WORKDIR": str(self.places.kwok),
            # Each component collects garbage seldom, except at this limit. With CRDs alone an API server
            # would grow to twice of it.
            "GOMEMLIMIT": "600MiB",
            "GOGC": "400",
            # With more threads, idle components spend a fifth of their CPU time on waking one another.
            "GOMAXPROCS": "1",
        }
        # By this link a kwokctl that outlives its caller is found and ended like a cluster.
        kwokctl = self.places.kwok / SCRATCH / f"kwokctl-{self.name}"
        kwokctl.parent.mkdir(parents=True, exist_ok=True)
        kwokctl.unlink(missing_ok=True)
        kwokctl.symlink_to(tools.program("kwokctl"))
        until = time.monotonic() + READY_SECONDS
        for _ in range(STARTS):
            done = subprocess.run(
                [str(kwokctl), *command, "--name", self.places.cluster_name(self.name)],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                break
            if self._comes_up(until):
                return ""
            if time.monotonic() > until or any(IN_USE in line for line in self._errors()):
                break
            # It starts those components alone that have ended.
            command = START
        reasons = [*done.stderr.strip().splitlines()[-3:], *self._errors()]
        return "\n  ".join(line[:300] for line in reasons) or "its components ended at once"

    def _comes_up(self, until: float) -> bool:
        """Wait until the API server answers. Return whether all components run then.

        Returns False at once where it cannot answer, because it has ended or etcd has.
        """
        pki = self.folder / "pki"
        tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        port = ports.numbers(self._first_port())["kubeApiserverPort"]
        while time.monotonic() < until and {process.program.name for process in self.processes()} >= _SERVER:
            if https.status(port, "/healthz", tls) == http.client.OK:
                return self.condition(complete=False) == "running"
            time.sleep(0.2)
        return False

    def _errors(self) -> list[str]:
        """Return the last errors in the log of each component."""
        found = []
        for log in sorted((self.folder / "logs").glob("*.log")):
            errors = [line for line in log.read_text(errors="replace").splitlines() if _ERROR.search(line)]
            found += [f"{log.stem}: {line}" for line in errors[-2:]]
        return found
