// Runs the Gateway API's conformance suite as its own test does, or prints which tests it has.
package main

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
)

var (
	list     = flag.Bool("list", false, "print the tests with the features that they need, as JSON, and end")
	extra    = flag.String("extra-manifests", "", "a folder whose files are added to the suite's of the same names")
	patience = flag.Duration("patience", 0, "the longest wait for a condition or an answer; 0 for the suite's own")
)

func run(t *testing.T) {
	options := conformance.DefaultOptions(t)
	if *extra != "" {
		options.ManifestFS = append(options.ManifestFS, os.DirFS(*extra))
	}
	if *patience != 0 {
		wait := &options.TimeoutConfig
		for _, limit := range []*time.Duration{
			&wait.GatewayMustHaveCondition, &wait.GatewayStatusMustHaveListeners,
			&wait.GatewayListenersMustHaveConditions, &wait.GatewayMustHaveAddress, &wait.HTTPRouteMustHaveCondition,
			&wait.HTTPRouteMustNotHaveParents, &wait.ListenerSetMustHaveCondition,
			&wait.ListenerSetListenersMustHaveConditions, &wait.RouteMustHaveParents, &wait.MaxTimeToConsistency,
			&wait.LatestObservedGenerationSet, &wait.DefaultTestTimeout,
		} {
			*limit = min(*limit, *patience)
		}
		// All pods of the suite start in this time, and Gateways that never come are waited for so long too.
		wait.NamespacesMustBeReady = min(wait.NamespacesMustBeReady, 8**patience)
	}
	conformance.RunConformanceWithOptions(t, options)
}

func main() {
	testing.Init()
	flag.Parse()
	if *list {
		needs := map[string]any{}
		for _, test := range tests.ConformanceTests {
			needs[test.ShortName] = test.Features
		}
		if err := json.NewEncoder(os.Stdout).Encode(needs); err != nil {
			panic(err)
		}
		return
	}
	matches := func(string, string) (bool, error) { return true, nil }
	testing.Main(matches, []testing.InternalTest{{Name: "TestConformance", F: run}}, nil, nil)
}
