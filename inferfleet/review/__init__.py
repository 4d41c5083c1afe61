"""What is told to people about a stack and its changes: the digest, policies, the report.

Values and conditions; what they look like is in `cli/show`.
"""
