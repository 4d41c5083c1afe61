// The Kubernetes provider plugin of Pulumi, from its module: upstream's own main embeds files that
// are generated in its repository, this one embeds the module's files as they are.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

const version = "4.25.0"

// Copied from the module beside this file before the build.
//
//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() {
	// The schema in the module carries no version; its first byte opens the object.
	versioned := append([]byte(`{"version":"`+version+`",`), schema[1:]...)
	provider.Serve("kubernetes", version, versioned, mapping)
}
