"""llm-d-router 0.9: the first release under that name that holds the endpoint picker whole.

From pkg/epp/server/options.go, cmd/epp/runner/runner.go and pkg/epp/server/controller_manager.go of v0.9.0:
what v0.10.0 changed is here, the rest is as there. No plugin has a stability yet, and how metrics of engines
are read can still be told by flags. Not run by any test here.
"""

from dataclasses import replace

from inferfleet.profiles import proxy
from inferfleet.profiles.releases.gie_1_5 import GIE_1_5
from inferfleet.profiles.releases.router_0_10 import ROUTER_0_10

_SINCE_0_10 = (
    "drain-timeout",
    "emit-endpoint-scores",
    "tls-min-version",
    "tls-cipher-suites",
    "metrics-client-ca-file",
    "metrics-cert-dir",
    "allow-experimental-plugins",
)
_UNTIL_0_9 = (
    "model-server-metrics-scheme",
    "model-server-metrics-path",
    "model-server-metrics-port",
    "model-server-metrics-https-insecure-skip-verify",
)

ROUTER_0_9 = replace(
    ROUTER_0_10,
    name="router-0.9",
    epp_image="ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.9.0",
    known_flags={
        **{name: kind for name, kind in ROUTER_0_10.known_flags.items() if name not in _SINCE_0_10},
        **{name: GIE_1_5.known_flags[name] for name in _UNTIL_0_9},
    },
    engine_metrics_port_flag=GIE_1_5.engine_metrics_port_flag,
    proxy=proxy.ROUTER_0_9,
    config_table="router-0.9",
    # NewRuntime in pkg/epp/datalayer/runtime.go takes whatever is more than 0: the floor came with v0.10.0.
    least_scrape=None,
    cipher_suites=(),
    serves_on=False,
)
