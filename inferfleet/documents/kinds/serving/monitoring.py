"""How the metrics of a cluster's engines and endpoint pickers are scraped, and who may read them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from inferfleet.documents.kinds.base import Duration, Model
from inferfleet.documents.kinds.text_rules import Dns1035, label_mistakes
from inferfleet.documents.pods.texts import SUBDOMAIN, Written
from inferfleet.documents.problems import Mistake, Mistaken, mistaken


def _labels(labels: dict[str, str]) -> dict[str, str]:
    if mistakes := label_mistakes(labels, ("inferfleet.dev/", "app.kubernetes.io/managed-by")):
        raise Mistaken(*mistakes)
    return labels


# Without a user or password: the address stands in objects that many may read.
_URL = Written(
    r"https?://[A-Za-z0-9.:\[\]-]+(/[-A-Za-z0-9._~/]*)?", "an address such as http://prometheus:9090"
)


class Scraper(Model):
    """The account of what scrapes."""

    namespace: Annotated[str, Dns1035(63)]
    """Namespace of its pods and of its ServiceAccount."""
    service_account: Annotated[str, SUBDOMAIN]
    """Name of the ServiceAccount, such as `prometheus-k8s`."""


# Of Google Cloud Managed Service for Prometheus (manifests/operator.yaml of GoogleCloudPlatform/
# prometheus-engine 2ffde4e); Autopilot has it in gke-gmp-system (config/charts/routerlib of llm-d-router
# v0.10.0).
COLLECTOR = Scraper(namespace="gmp-system", service_account="collector")


class Monitoring(Model):
    """Which objects tell a monitoring system to scrape engines and endpoint pickers. A cluster that does not
    know their kind gets none of them, and a run says so.
    """

    engines: Literal["PodMonitor", "PodMonitoring"] | None = None
    """Objects for the pods of engines that serve metrics, one for each role of a deployment: `PodMonitor` of
    the Prometheus operator, or `PodMonitoring` of Google Cloud Managed Service for Prometheus; annotations
    are what the plugin `prometheus` writes. Default: none.
    """
    pickers: Literal["PodMonitor", "ServiceMonitor", "PodMonitoring", "Annotations"] | None = None
    """Objects for endpoint pickers: as for engines, `ServiceMonitor`, or `Annotations` of their pods
    (`prometheus.io/scrape`), by which whoever goes by them sends its own token. Default: none.
    """
    interval: Duration = 30
    """How often each pod is scraped, such as `15s`; the default is in seconds."""
    labels: Annotated[dict[str, str], AfterValidator(_labels)] = {}
    """Labels of these objects, by which a Prometheus selects its own (`podMonitorSelector`), such as
    `{release: kube-prometheus-stack}`. Default: none beside those of the stack.
    """
    scraper: Scraper | None = None
    """The account that scrapes: it may read the metrics of pickers with its own token, or for `PodMonitoring`
    the Secret with the token to send, and `networkPolicy` lets pods of its namespace in. Required for
    `Annotations` unless `metricsAuth` is false; default: none, for `PodMonitoring` `gmp-system/collector`.
    """

    server: Annotated[str, _URL] | None = None
    """Address of the Prometheus that has the metrics, such as `http://prometheus.monitoring:9090`, as KEDA
    asks it. Default: none, and no deployment of the cluster is scaled by KEDA.
    """

    @model_validator(mode="after")
    def _scrapes_something(self) -> "Monitoring":
        if self.engines is None and self.pickers is None and self.server is None:
            raise mistaken(
                "{field} says neither how engines nor how pickers are scraped", "Write one of both"
            )
        if self.labels and self.engines is None and self.pickers == "Annotations":
            what = "labels are for objects, and there are none: pickers are scraped by annotations"
            raise Mistaken(Mistake(what, "Remove them", ("labels",)))
        return self

    @property
    def scraped_by(self) -> Scraper | None:
        """Return the account that scrapes, None where nobody says which."""
        return self.scraper or (COLLECTOR if "PodMonitoring" in (self.engines, self.pickers) else None)
