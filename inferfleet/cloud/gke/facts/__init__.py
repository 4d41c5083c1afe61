"""What is known of Google Cloud and its Pulumi provider: tables with sources, and lookups in them.

No decision about a stack is made here.
"""
