"""What Istio and Google published of their gateways' conformance: profile GATEWAY-HTTP, Gateway API v1.5.

A report names the optional features that a gateway has, and the tests that fail or are left out; of these two
neither report names any. What needs a feature that it lacks is left out of its run.

Source: the reports of module sigs.k8s.io/gateway-api/conformance v1.7.0, which is tag conformance/v1.7.0 of
https://github.com/kubernetes-sigs/gateway-api.
"""

_FOLDER = "https://github.com/kubernetes-sigs/gateway-api/blob/conformance/v1.7.0/conformance/reports/v1.5"
ISTIO_REPORT = f"{_FOLDER}/istio-istio/1.30.5-default-report.yaml"
GKE_REPORT = f"{_FOLDER}/gke-gateway/v1.5.0-gke-report.yaml"
# Of the inference extension (sigs.k8s.io/gateway-api-inference-extension/conformance v1.6.0): all tests of
# their time succeeded, 13 of v1.5.0 at Istio 1.30.1 and 9 of v0.5.0 at GKE 1.32.4.
_INFERENCE = "https://github.com/kubernetes-sigs/gateway-api-inference-extension/blob/conformance/v1.6.0/conformance/reports"
ISTIO_INFERENCE_REPORT = f"{_INFERENCE}/v1.5.0/gateway/istio/1.30.1-default-gateway-report.yaml"
GKE_INFERENCE_REPORT = f"{_INFERENCE}/v0.5.0/gateway/gke-gateway/standard-v1.32.4-rxlb-gateway-report.yaml"

# What every gateway of the profile has.
CORE = frozenset({"Gateway", "HTTPRoute", "ReferenceGrant"})
ISTIO = frozenset(
    [
        "BackendTLSPolicy",
        "BackendTLSPolicySANValidation",
        "GatewayAddressEmpty",
        "GatewayHTTPListenerIsolation",
        "GatewayInfrastructurePropagation",
        "GatewayPort8080",
        "GatewayStaticAddresses",
        "HTTPRoute303RedirectStatusCode",
        "HTTPRoute307RedirectStatusCode",
        "HTTPRoute308RedirectStatusCode",
        "HTTPRouteBackendProtocolH2C",
        "HTTPRouteBackendProtocolWebSocket",
        "HTTPRouteBackendRequestHeaderModification",
        "HTTPRouteBackendTimeout",
        "HTTPRouteCORS",
        "HTTPRouteDestinationPortMatching",
        "HTTPRouteHostRewrite",
        "HTTPRouteMethodMatching",
        "HTTPRouteNamedRouteRule",
        "HTTPRouteParentRefPort",
        "HTTPRoutePathRedirect",
        "HTTPRoutePathRewrite",
        "HTTPRoutePortRedirect",
        "HTTPRouteQueryParamMatching",
        "HTTPRouteRequestMirror",
        "HTTPRouteRequestMultipleMirrors",
        "HTTPRouteRequestPercentageMirror",
        "HTTPRouteRequestTimeout",
        "HTTPRouteResponseHeaderModification",
        "HTTPRouteSchemeRedirect",
        "ListenerSet",
    ]
)
GKE = frozenset(
    [
        "BackendTLSPolicy",
        "BackendTLSPolicySANValidation",
        "GatewayFrontendClientCertificateValidation",
        "GatewayPort8080",
        "HTTPRouteHostRewrite",
        "HTTPRoutePathRedirect",
        "HTTPRouteQueryParamMatching",
        "HTTPRouteRequestMirror",
        "HTTPRouteRequestPercentageMirror",
        "HTTPRouteResponseHeaderModification",
        "HTTPRouteSchemeRedirect",
    ]
)
# Of these it names, the tests are in none of its figures (docs/conformance.md says how that is known).
GKE_UNCOUNTED = frozenset({"BackendTLSPolicy"})
# What the sandbox's own gateway has. Under Google's classes it refuses those of them that Google lacks.
BUILT_IN = frozenset(
    {
        "GatewayPort8080",
        "HTTPRouteDestinationPortMatching",
        "HTTPRouteHostRewrite",
        "HTTPRouteNamedRouteRule",
        "HTTPRouteParentRefPort",
        "HTTPRoutePathRewrite",
        "HTTPRouteRequestTimeout",
    }
)
FEATURES = tuple(sorted(CORE | ISTIO | GKE))
