"""What every test below this folder may use, and what none of them may do: write to a CI service's real summary."""

import os

pytest_plugins = ["pytester"]

for _service in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(_service, None)
