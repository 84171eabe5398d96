"""What every test below this folder may use, and what none of them may do: write to a CI service's real summary.

No property is judged by the clock of a busy machine, and every run tries the same examples; with
``--hypothesis-profile search`` each run tries others.
"""

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

for _service in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(_service, None)

settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True)
settings.load_profile("same")
