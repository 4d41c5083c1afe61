"""Everything that should exist, in one value. The only room that calls planner, plugins, clouds and serving.

`__main__`, `render`, `explain`, `validate` and everything shown to people start from `desired(...)`.
"""

from inferfleet.desired.build import desired

__all__ = ["desired"]
