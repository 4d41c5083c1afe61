"""Where replicas go, by documents and lock alone. `fleet.planning` calls the phases in order.

Phases: `soundness`, `retention`, `placing` with `exchange`. What they stand on: `suitability` of pools,
`terms` of deployments, `quotas`, `prices`, the `space` of pools (`packing`), and the `ledger` of replicas;
`candidates` finds the best spot by all of these. `reasons` says in words why replicas are not elsewhere.
"""
