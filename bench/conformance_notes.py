"""What is said by hand on docs/conformance.md: why results differ."""

TEXT = """
**Istio here** differs from Istio's report by what the sandbox lacks:

* Certificates. Istiod hands them only to proxies whose identity it has verified, which Istio's own agent
  proves. So HTTPS listeners serve nobody (HTTPRouteHTTPSListener, HTTPRouteRedirectPortAndScheme), and
  backends are not reached by TLS (the three tests of BackendTLSPolicy). The Gateways are accepted and
  programmed all the same.
* Logs of pods by way of the API server, in which three tests look for requests that are mirrored.
* Addresses that are known to be usable and unusable, for GatewayStaticAddresses.
* GatewayFrontendClientCertificateValidation is none of Istio's features; it is asked because Google has it.

**GKE's report** counts 36 tests of the core and 11 of optional features. It was made anew on 2026-06-24, with
a suite on the way to v1.6: the core has 33 tests in v1.5.0, and three that came in April and May are not in
the table (GatewayInvalidParametersRef, GatewayListenerUnsupportedProtocol, HTTPRouteNoBackendRefs). The
report of March counted 7 tests, one of each of its seven features. That of June names four features more, of
which HTTPRouteQueryParamMatching has one test and GatewayFrontendClientCertificateValidation has three, which
makes 11. So the six tests of BackendTLSPolicy, which it names too, are in no figure; it does not say why, and
they are "not counted" above. Google's [report of v1.6][] (GKE 1.36.2) counts 37 and 19, which is all tests of
the features that it names, with those of BackendTLSPolicy.

[report of v1.6]: https://github.com/kubernetes-sigs/gateway-api/blob/main/conformance/reports/v1.6/gke-gateway/v1.6.0-gke-report.yaml

**The built-in gateway** knows HTTP alone, so tests of TLS, of secrets for it and of Gateways that also have
an HTTPS listener fail. It refuses what it lacks by the field's name, with a reason of its own
(UnsupportedValue) where the suite waits for another. It resolves Services by their selectors, so slices
that somebody writes are not read, and it reads no ReferenceGrants. It has no redirects. Other tests of
optional features are not asked.

Under Google's classes it refuses time limits, as Google's report has no HTTPRouteRequestTimeout, and rewrites
of a prefix to `/` and of whole paths, as it has no HTTPRoutePathRewrite. The condition has the words of
Google's controller, with the code GWCER104. It does
what HTTPRouteParentRefPort asks for, because tests of the core need ports in `parentRefs` too. It does not
tell pickers which endpoint served a request, which GatewayDestinationEndpointServed and
InferencePoolAppProtocol look at, and knows no HTTP/2 to endpoints.

**What we render** needs, of the optional features, HTTPRouteRequestTimeout for all providers but `gke`, and a
part of HTTPRoutePathRewrite: a prefix is replaced by a path of the engine, `/ml/chat/v1` by `/v1`. Google's
reports up to that of v1.6 (2026-07-23) list the feature as unsupported. Its test replaces a prefix by
another, a prefix by `/`, and whole paths; which of them fails on GKE the reports do not say. No route of
ours does the second or the third. With `route.path: /` a route rewrites nothing.

The suite of the inference extension is that of v1.5.0, whose pods run the picker of that version. From
v1.6.0 on it has a picker of its own, which answers each body by itself, where Istio and the built-in
gateway ask in the mode FULL_DUPLEX_STREAMED: through Istio every request ended with 500.
"""
