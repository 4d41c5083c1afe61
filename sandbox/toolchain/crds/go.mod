module inferfleet.dev/toolchain

go 1.26

require (
	sigs.k8s.io/gateway-api v1.5.0
	sigs.k8s.io/gateway-api-inference-extension v1.6.0
	sigs.k8s.io/lws v0.9.0
)
