"""The operations the workloads declare, against counts made another way."""

from __future__ import annotations

from typing import Any

from reference_impl.workloads import mlp, mnist_cnn, softmax_cross_entropy


def case_of(workload: Any, name: str) -> Any:
    return next(case for case in workload.cases() if case.name == name)


def test_every_timed_case_says_what_it_computes() -> None:
    for module in (softmax_cross_entropy, mlp, mnist_cnn):
        for case in module.WORKLOAD.cases():
            if case.timed:
                assert 0 < case.flops < 1e12, case.name


def test_softmax_cross_entropy_is_five_operations_a_logit_and_five_a_row() -> None:
    case = case_of(softmax_cross_entropy.WORKLOAD, "4096x1000-float32")
    assert case.flops == 5 * 4096 * 1001


def test_the_network_declares_the_products_of_its_steps() -> None:
    case = case_of(mnist_cnn.WORKLOAD, "float32")
    products = (  # rows, terms, columns, how often in a step: forward, for the weights, for the inputs
        (64 * 24 * 24, 1 * 5 * 5, 20, 2),  # images have no gradient
        (64 * 8 * 8, 20 * 5 * 5, 50, 3),
        (64, 50 * 4 * 4, 500, 3),
        (64, 500, 10, 3),
    )
    assert case.flops == 3 * sum(2 * m * k * n * times for m, k, n, times in products)
