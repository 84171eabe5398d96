import numpy as np
import pytest

from harness.devices.simulated import SimulatedDevice
from reference_impl.workloads.mnist_cnn_metrics import DeviceMetrics, HostMetrics

LOGITS = np.array([[1, 3, 2], [5, 4, 0], [0, 1, 2]], np.float32)
LABELS = np.array([1, 2, 2])
TARGETS = np.eye(3, dtype=np.int32)[LABELS]
LOSS = np.float32(0.25)


def test_both_count_the_same():
    host, device = HostMetrics(), DeviceMetrics(LOGITS)
    for _ in range(2):
        host.add(LOGITS, np.asarray(LOSS), LABELS)
        device.add(LOGITS, np.asarray(LOSS), TARGETS)
    assert device.read() == (float(host.loss), host.correct) == (0.5, 4)


def test_losses_are_summed_in_float32_as_by_the_program():
    host = HostMetrics()
    for loss in (16_777_216.0, 1.0):
        host.add(LOGITS, np.asarray(loss, np.float32), LABELS)
    assert float(host.loss) == 16_777_216.0
    assert host.loss.dtype == np.float32


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_on_a_device_the_host_reads_in_every_step_and_the_device_at_the_end(dtype):
    simulated = SimulatedDevice()
    logits, loss = (simulated.to_device(np.asarray(a, dtype)) for a in (LOGITS, LOSS))
    targets = simulated.to_device(TARGETS)
    host, device = HostMetrics(), DeviceMetrics(logits)
    with simulated.probe.record() as recording:
        for _ in range(3):
            with recording.region("host"):
                host.add(logits, loss, LABELS)
            with recording.region("device"):
                device.add(logits, loss, targets)
        with recording.region("end"):
            assert device.read() == (float(host.loss), host.correct)
    counts = {name: recording.trace().within(name).counts() for name in ("host", "device", "end")}
    assert {name: (c.d2h, c.h2d, c.syncs) for name, c in counts.items()} == {
        "host": (6, 0, 6),
        "device": (0, 0, 0),
        "end": (1, 0, 1),
    }
    assert counts["end"].d2h_bytes == 8
