"""The operations, one per file, forward beside backward.

Written once over the array namespace of their inputs. On a device they use only what neither copies nor
waits: ufuncs, reductions, ``where``, and indexing by integer arrays that are already there.
"""

from reference_impl.ops.add_bias import AddBias, add_bias
from reference_impl.ops.cross_entropy import CrossEntropy, cross_entropy
from reference_impl.ops.fused_softmax_cross_entropy import (
    FusedSoftMaxCrossEntropy,
    fused_softmax_cross_entropy,
)
from reference_impl.ops.host_round_trip import (
    HostRoundTripSoftMaxCrossEntropy,
    host_round_trip_softmax_cross_entropy,
)
from reference_impl.ops.matmul import Matmul, matmul
from reference_impl.ops.relu import ReLU, relu
from reference_impl.ops.singa_softmax_cross_entropy import (
    SingaSoftMaxCrossEntropy,
    singa_softmax_cross_entropy,
)
from reference_impl.ops.softmax import SoftMax, softmax
from reference_impl.ops.softmax_cross_entropy import SoftMaxCrossEntropy, softmax_cross_entropy

__all__ = [
    "AddBias",
    "CrossEntropy",
    "FusedSoftMaxCrossEntropy",
    "HostRoundTripSoftMaxCrossEntropy",
    "Matmul",
    "ReLU",
    "SingaSoftMaxCrossEntropy",
    "SoftMax",
    "SoftMaxCrossEntropy",
    "add_bias",
    "cross_entropy",
    "fused_softmax_cross_entropy",
    "host_round_trip_softmax_cross_entropy",
    "matmul",
    "relu",
    "singa_softmax_cross_entropy",
    "softmax",
    "softmax_cross_entropy",
]
