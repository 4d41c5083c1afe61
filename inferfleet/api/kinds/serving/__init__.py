"""How a cluster serves, part by part: models of the blocks below `serving` that have rules of their own.

What a whole cluster is belongs into `inference_cluster`, and what a deployment asks beside it into
`model_deployment`.
"""
