"""Figures that SINGA's own runs printed, and the bands they span.

Sources: the ticket SINGA-502 and the pull requests and issues of apache/singa named beside each.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "CNN_SOURCE",
    "CNN_TEST_ACCURACY",
    "CNN_TRAIN_ACCURACY",
    "CNN_TRAIN_LOSS",
    "MLP_BAND",
    "MLP_SOURCE",
    "RESNET50_SECONDS",
    "RESNET50_SOURCE",
    "RESNET50_THROUGHPUT",
    "Interval",
]

Interval = tuple[float, float]

MLP_SOURCE = (
    "1 % to 99 % of 300 seeds of the same program in float64; the ticket's unseeded run lies within"
)
MLP_BAND: tuple[Interval, ...] = (
    (0.663768, 0.728397),
    (0.535362, 0.671341),
    (0.494242, 0.629264),
    (0.381569, 0.615824),
    (0.283922, 0.600109),
    (0.219690, 0.587819),
    (0.175728, 0.575206),
    (0.144825, 0.540631),
    (0.124581, 0.392688),
    (0.110246, 0.309366),
    (0.099493, 0.247098),
)
"""Loss at step 0, 100, ... 1000."""

CNN_SOURCE = (
    "lowest and highest of 8 runs of SINGA on one GPU: the ticket, apache/singa pull requests 535, 555, 579, "
    "588, 694, 728, 797 (3 of them reach epoch 9)"
)
CNN_TRAIN_LOSS: tuple[Interval, ...] = (
    (564.004028, 596.964600),
    (229.544083, 234.667984),
    (161.976379, 168.670303),
    (133.865494, 138.634125),
    (115.716629, 118.813286),
    (101.295425, 106.185112),
    (93.883789, 96.263885),
    (86.757538, 89.073364),
    (80.650063, 81.706383),
    (77.312569, 77.790993),
)
"""Sum of the mean losses of 937 batches, by epoch."""

CNN_TRAIN_ACCURACY: tuple[Interval, ...] = (
    (0.789421, 0.801411),
    (0.920758, 0.924260),
    (0.943420, 0.946438),
    (0.953392, 0.955593),
    (0.959779, 0.961730),
    (0.964131, 0.966299),
    (0.967249, 0.969684),
    (0.970051, 0.971251),
    (0.972252, 0.972886),
    (0.973769, 0.974236),
)
"""Of 59,968 augmented images, by epoch."""

CNN_TEST_ACCURACY: tuple[Interval, ...] = (
    (0.930088, 0.943409),
    (0.956631, 0.967949),
    (0.960537, 0.974559),
    (0.966747, 0.978566),
    (0.971554, 0.979567),
    (0.974059, 0.979267),
    (0.977163, 0.984575),
    (0.977364, 0.982873),
    (0.979968, 0.984075),
    (0.981270, 0.981270),
)
"""Of 9,984 images, by epoch."""

RESNET50_SOURCE = "the ticket: ResNet-50, batch 32 of 224x224, one NVIDIA T4"
RESNET50_THROUGHPUT = 110.30029570709767
"""Images per second."""

RESNET50_SECONDS: Mapping[str, float] = {
    "total": 0.2901170825958252,
    "forward": 0.09263657093048096,
    "softmax": 0.0016593122482299804,
    "backward": 0.19582119941711426,
    "sgd": 0.009393131732940674,
}
"""Of one iteration; backward is total - forward - softmax, and so contains sgd."""
