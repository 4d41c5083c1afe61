"""The parts of the toolchain: their programs and files, with Go packages and versions."""

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path

from sandbox.toolchain.edits import (
    ECHO_SERVER,
    LLM_D_MODULE,
    LLM_D_SOURCE,
    PICKER,
    PICKER_MODULE,
    SUITE_MODULE,
    Edited,
)

HERE = Path(__file__).parent
PULUMI = "3.250.0"
KUBERNETES = "1.36.3"
KUBERNETES_PROVIDER = "4.25.0"
# The version of the Python package that programs use. The provider is simulated (sandbox/gcp), not built.
GOOGLE_PROVIDER = "10.2.0"

# These flags are part of the key of Go's own build cache: with others everything is compiled again.
GO_FLAGS = "-mod=readonly -buildvcs=false -trimpath"


@dataclass(frozen=True)
class Program:
    """An executable and the Go package it is built from. `args` make it print its version.

    On the PATH a version from `least` up to, but without, `below` is accepted too.
    """

    name: str
    package: str = "."
    args: tuple[str, ...] = ("--version",)
    least: str = ""
    below: str = ""


@dataclass(frozen=True)
class Files:
    """Files copied from a module: those in `folder` that match `pattern`, copied to the folder `into`."""

    module: str
    folder: str
    pattern: str
    into: str = "."
    executable: bool = False


@dataclass(frozen=True)
class Part:
    """One Go module and its results. `embedded` files are copied beside its main.go before it is built.

    `minutes` is the rough time on two cores when nothing is cached.
    """

    name: str
    version: str
    programs: tuple[Program, ...] = ()
    files: tuple[Files, ...] = ()
    embedded: tuple[Files, ...] = ()
    edited: tuple[Edited, ...] = ()
    ldflags: str = "-s -w"
    minutes: int = 0

    @property
    def folder(self) -> Path:
        """The folder with the part's go.mod and go.sum."""
        return HERE / self.name

    @property
    def names(self) -> frozenset[str]:
        """What programs, and files beside them, are called. Other files are in folders of their own."""
        beside = (files.pattern for files in self.files if files.into == ".")
        return frozenset({*(program.name for program in self.programs), *beside})

    @property
    def paths(self) -> frozenset[str]:
        """Its programs and files as they lie in its folder. Those of a pattern have the pattern's name."""
        return self.names | {f"{files.into}/{files.pattern}" for files in self.files if files.into != "."}

    @property
    def key(self) -> str:
        """`<part>-<hash>`, with a hash of everything that decides the result."""
        digest = hashlib.sha256()
        for file in ("go.mod", "go.sum", "main.go"):
            path = self.folder / file
            digest.update(path.read_bytes() if path.exists() else b"")
        built = [(program.name, program.package) for program in self.programs]
        recipe: list[object] = [built, self.files, self.embedded, self.ldflags, GO_FLAGS, platform.machine()]
        recipe += self.edited
        recipe += [edited.without for edited in self.edited if edited.without]
        digest.update(repr(tuple(recipe)).encode())
        return f"{self.name}-{digest.hexdigest()[:12]}"


ISTIO_MODULE = "istio.io/istio"
_ISTIO_CHARTS = "manifests/charts"
_ISTIO_DISCOVERY = f"{_ISTIO_CHARTS}/istio-control/istio-discovery"
_PROVIDER_MODULE = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_PROVIDER_FILES = "cmd/pulumi-resource-kubernetes"

LANGUAGE_PYTHON = Part(
    name="language-python",
    # The last release of the sdk module that contains the language host.
    version="3.79.0",
    programs=(
        Program(
            "pulumi-language-python", "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
        ),
    ),
    minutes=1,
)
LANGUAGE_PYTHON_EXEC = Part(
    name="language-python-exec",
    # The version of the Python SDK in requirements.txt, with which it exchanges data.
    version="3.272.0",
    files=(
        Files(
            "github.com/pulumi/pulumi/sdk/v3", "python/cmd", "pulumi-language-python-exec", executable=True
        ),
    ),
)
PULUMI_CLI = Part(
    name="pulumi",
    version=PULUMI,
    programs=(
        Program(
            "pulumi",
            "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
            args=("version",),
            least=PULUMI,
            below="4.0.0",
        ),
    ),
    ldflags=f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{PULUMI}",
    minutes=4,
)
PROVIDER = Part(
    name="kubernetes-provider",
    version=KUBERNETES_PROVIDER,
    programs=(Program("pulumi-resource-kubernetes"),),
    embedded=(
        Files(_PROVIDER_MODULE, _PROVIDER_FILES, "schema.json"),
        Files(_PROVIDER_MODULE, _PROVIDER_FILES, "terraform-mapping.json"),
    ),
    minutes=8,
)
KUBE = Part(
    name="kube",
    version=KUBERNETES,
    programs=(
        *(
            Program(name, f"k8s.io/kubernetes/cmd/{name}", least="1.36.0", below="1.37.0")
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
        ),
        Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", ("version", "--client"), "1.35.0", "1.38.0"),
        Program("etcd", "go.etcd.io/etcd/server/v3", least="3.6.0", below="4.0.0"),
    ),
    ldflags=f"-s -w -X k8s.io/component-base/version.gitVersion=v{KUBERNETES}",
    minutes=5,
)
KWOK = Part(
    name="kwok",
    version="0.8.0",
    programs=tuple(
        Program(name, f"sigs.k8s.io/kwok/cmd/{name}", least="0.8.0", below="0.9.0")
        for name in ("kwok", "kwokctl")
    ),
    minutes=2,
)
CRDS = Part(
    name="crds",
    version="1.5.0",
    files=(
        Files("sigs.k8s.io/gateway-api", "config/crd/standard", "gateway*.yaml", "crds"),
        Files("sigs.k8s.io/gateway-api-inference-extension", "config/crd/bases", "*.yaml", "crds"),
        Files("sigs.k8s.io/lws", "config/crd/bases", "leaderworkerset*.yaml", "crds"),
        # For clusters that say `provider: istio`, whoever serves their Gateways.
        Files(ISTIO_MODULE, f"{_ISTIO_CHARTS}/base/files", "crd-all.gen.yaml", "istio-crds"),
    ),
)
# What Google defines of networks beside a cluster's own, as its clusters with many networks have it.
GKE_NETWORKS = Part(
    name="gke-networks",
    # The last version that the module proxy offers.
    version="0.2.11",
    files=tuple(
        Files(
            "github.com/GoogleCloudPlatform/gke-networking-api",
            "config/crds",
            f"networking.gke.io_{plural}.yaml",
            "crds",
        )
        for plural in ("gkenetworkparamsets", "networks")
    ),
)
# How GKE's autoscaler is asked for nodes, as the autoscaler of the Kubernetes project defines it.
GKE_AUTOSCALING = Part(
    name="gke-autoscaling",
    # The module has no versions. The schema of this commit is that of 55c37cd5 (2026-08-22).
    version="of commit adfbe7e45277",
    files=(Files("k8s.io/autoscaler/cluster-autoscaler/apis", "config/crd", "*.yaml", "crds"),),
)

EPP = Part(
    name="epp",
    # The version of the image of profile gie-1.5; later endpoint pickers are in another module.
    version="1.5.0",
    programs=(Program("epp", f"{PICKER_MODULE}/cmd/epp"),),
    edited=(PICKER,),
    minutes=3,
)

# The routing sidecar of decode pods, and the picker that knows of prefill and decode. The picker is that of
# Gateway API Inference Extension 1.4.0 with more plugins.
LLM_D = Part(
    name="llm-d",
    version="0.7.1",
    programs=(
        Program("pd-sidecar", f"{LLM_D_MODULE}/cmd/pd-sidecar"),
        Program("llm-d-epp", f"{LLM_D_MODULE}/cmd/epp"),
    ),
    edited=(PICKER, LLM_D_SOURCE),
    minutes=3,
)

LWS = Part(
    name="lws",
    version="0.9.0",
    programs=(Program("lws-controller", "sigs.k8s.io/lws/cmd"),),
    files=(
        # The controller also watches DisaggregatedSets and ends when they are not defined.
        Files("sigs.k8s.io/lws", "config/crd/bases", "disaggregatedset*.yaml", "crds"),
        Files("sigs.k8s.io/lws", "config/webhook", "*.yaml", "webhooks"),
    ),
    ldflags="-s -w -X sigs.k8s.io/lws/pkg/version.GitVersion=v0.9.0",
    minutes=3,
)

# It renders the charts of add-ons.
HELM = Part(
    name="helm",
    version="3.22.0",
    programs=(
        Program(
            "helm",
            "helm.sh/helm/v3/cmd/helm",
            args=("version", "--short"),
            least="3.14.0",
            below="4.0.0",
        ),
    ),
    minutes=3,
)

# The control plane of Istio, and what its chart has istiod make the pods of Gateways from.
ISTIO = Part(
    name="istio",
    # The release that the commit of 2026-08-27 is on the way to.
    version="1.31",
    programs=(Program("istiod", f"{ISTIO_MODULE}/pilot/cmd/pilot-discovery"),),
    files=(
        Files(ISTIO_MODULE, _ISTIO_DISCOVERY, "values.yaml", "istio"),
        Files(ISTIO_MODULE, f"{_ISTIO_DISCOVERY}/files", "kube-gateway.yaml", "istio"),
    ),
    minutes=6,
)

# What a front door runs: Envoy Gateway, and the router that reads the model of a request from its body.
_ENVOY_GATEWAY_VERSION = "github.com/envoyproxy/gateway/internal/cmd/version"
ENVOY_GATEWAY = Part(
    name="envoy-gateway",
    version="1.9.1",
    programs=(Program("envoy-gateway", "github.com/envoyproxy/gateway/cmd/envoy-gateway"),),
    files=(
        Files(
            "github.com/envoyproxy/gateway",
            "charts/gateway-helm/charts/crds/crds/generated",
            "gateway.envoyproxy.io_*.yaml",
            "crds",
        ),
    ),
    ldflags=" ".join(
        [
            "-s -w",
            *(
                f"-X {_ENVOY_GATEWAY_VERSION}.{variable}=v1.9.1"
                for variable in ("envoyGatewayVersion", "shutdownManagerVersion", "gitCommitID")
            ),
        ]
    ),
    minutes=6,
)
BODY_BASED_ROUTER = Part(
    name="bbr",
    version="1.5.0",
    programs=(Program("bbr", "sigs.k8s.io/gateway-api-inference-extension/cmd/bbr"),),
    minutes=1,
)
# What counts requests of limited callers, in the version of Envoy Gateway's go.mod; and a Redis in memory.
RATE_LIMIT = Part(
    name="ratelimit",
    version="1.4.1",
    programs=(
        Program("ratelimit", "github.com/envoyproxy/ratelimit/src/service_cmd"),
        Program("memory-redis"),
    ),
    minutes=1,
)
# Conformance suites: of the Gateway API in the version of the part `crds`, with the server that its pods run.
GATEWAY_CONFORMANCE = Part(
    name="gateway-conformance",
    version="1.5.0",
    programs=(Program("gateway-conformance"), Program("echo-basic", f"{SUITE_MODULE}/echo-basic")),
    files=(Files(SUITE_MODULE, "base", "manifests.yaml", "gateway-conformance-base"),),
    edited=(ECHO_SERVER,),
    minutes=3,
)
INFERENCE_CONFORMANCE = Part(
    name="inference-conformance",
    # Later ones come with a picker of their own, which does not speak the mode in which Istio asks.
    version="1.5.0",
    programs=(Program("inference-conformance"),),
    minutes=3,
)

PARTS = (
    *(CRDS, GKE_AUTOSCALING, GKE_NETWORKS, LANGUAGE_PYTHON_EXEC, LANGUAGE_PYTHON, KWOK),
    *(PULUMI_CLI, KUBE, PROVIDER),
)
# Parts that only some stacks need (see sandbox/plans.py).
OF_STACKS = (LWS, EPP, LLM_D, HELM, ISTIO)
# Those of stacks with an InferenceGateway alone.
FRONT_DOOR = (ENVOY_GATEWAY, BODY_BASED_ROUTER)
# With those of gateways with limits, and those that only bench/conformance.py needs.
EXTRA = (*OF_STACKS, *FRONT_DOOR, RATE_LIMIT, GATEWAY_CONFORMANCE, INFERENCE_CONFORMANCE)
