"""No property is judged by the clock of a busy machine: Hypothesis limits neither an example nor the making of one."""

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
