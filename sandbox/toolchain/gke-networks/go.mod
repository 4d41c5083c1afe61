module inferfleet.dev/toolchain

go 1.25.0

require github.com/GoogleCloudPlatform/gke-networking-api v0.2.11
