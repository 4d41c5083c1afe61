"""The Google Cloud provider of Pulumi that the field table and the tests are of."""

PROVIDER_VERSION = "10.2.0"
