module inferfleet.dev/toolchain

go 1.26

require (
	sigs.k8s.io/kueue v0.19.2
	volcano.sh/volcano v1.15.1
)
