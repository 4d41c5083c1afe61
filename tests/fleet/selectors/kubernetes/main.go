// Prints what Kubernetes' own environment for device selectors makes of expressions, on the device of test_cel.py.
//
// It reads one expression, as a JSON text, per line. To make results.jsonl again with another release of Kubernetes:
// change go.mod, then: jq .expression results.jsonl | go run . > new.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

func main() {
	device := cel.Device{
		Driver: "gpu.nvidia.com",
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"architecture":          {StringValue: ptr.To("Hopper")},
			"cudaComputeCapability": {VersionValue: ptr.To("9.0.0")},
			"acme.example/slot":     {IntValue: ptr.To(int64(4))},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse("81559Mi")},
		},
	}
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(make([]byte, 1<<20), 1<<20)
	for scanner.Scan() {
		var expression string
		if err := json.Unmarshal(scanner.Bytes(), &expression); err != nil {
			panic(err)
		}
		row := map[string]any{"expression": expression}
		compiled := compiler.CompileCELExpression(expression, cel.Options{})
		if compiled.Error != nil {
			row["result"] = "refused"
		} else {
			row["cost"] = compiled.MaxCost
			matches, _, err := compiled.DeviceMatches(context.Background(), device)
			if compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
				row["result"] = "too costly"
			} else if err != nil {
				row["result"] = "error"
			} else {
				row["result"] = matches
			}
		}
		text, _ := json.Marshal(row)
		fmt.Println(string(text))
	}
}
