"""What Google's APIs fill in, keep and refuse, one module per family of resource types, in the APIs' words.

What belongs here: functions from inputs and existing records to a state or an ApiError, and Google's tables
of regions and machine types. What does not: the fields of the Pulumi provider and how it compares them
(`provider`), files and processes, and injected faults. The tables are kept apart from those that inferfleet
decides by, so that a mistake in one of them shows.
"""
