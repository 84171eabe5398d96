"""Layers, one per file, forward beside backward.

Like the operations of ``reference_impl.ops`` they are written once over the array namespace of their inputs and
use only what neither copies nor waits on a device. A layer is made from arrays that are where the network is to
run; it keeps them as its parameters, under names that begin with its own. Whether a layer trains is what
``autograd.training`` says, as in SINGA.
"""

from reference_impl.nn.add import Add, add
from reference_impl.nn.average_pool import AveragePooling, AvgPool2d
from reference_impl.nn.batch_norm import BatchNorm2d, BatchNormalization
from reference_impl.nn.conv2d import Conv2d, Convolution
from reference_impl.nn.flatten import Flatten, FlattenImages, flatten
from reference_impl.nn.initialisation import (
    convolution_weight,
    he_deviation,
    linear_weight,
    xavier_deviation,
)
from reference_impl.nn.linear import Linear
from reference_impl.nn.max_pool import MaxPool2d, MaxPooling
from reference_impl.nn.module import Module
from reference_impl.nn.relu import ReLU
from reference_impl.nn.sequential import Sequential

__all__ = [
    "Add",
    "AveragePooling",
    "AvgPool2d",
    "BatchNorm2d",
    "BatchNormalization",
    "Conv2d",
    "Convolution",
    "Flatten",
    "FlattenImages",
    "Linear",
    "MaxPool2d",
    "MaxPooling",
    "Module",
    "ReLU",
    "Sequential",
    "add",
    "convolution_weight",
    "flatten",
    "he_deviation",
    "linear_weight",
    "xavier_deviation",
]
