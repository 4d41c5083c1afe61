module inferfleet.dev/toolchain

go 1.26

require (
	istio.io/istio v0.0.0-20260827124520-eed52ebb66ad
	sigs.k8s.io/gateway-api v1.5.0
	sigs.k8s.io/gateway-api-inference-extension v1.6.0
	sigs.k8s.io/lws v0.9.0
)
