"""Names of containers that mean something in a pod template."""

# The one that serves the model.
ENGINE = "engine"
