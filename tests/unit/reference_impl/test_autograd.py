import gc
import threading
import weakref

import numpy as np
import pytest

from reference_impl import ops
from reference_impl.autograd import Operation, backward, gradients, is_training, training
from reference_impl.tensor import Tensor


class Add(Operation):
    def forward(self, a, b):
        return a + b

    def backward(self, dy):
        return dy, dy  # one array for both inputs


class Scale(Operation):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, a):
        return a * self.factor

    def backward(self, dy):
        return dy * self.factor


class Product(Operation):
    def forward(self, a, b):
        self.saved = (a, b)
        return a * b

    def backward(self, dy):
        a, b = self.saved
        return dy * b, dy * a


class Split(Operation):
    def forward(self, a):
        return a * 2.0, a * 3.0

    def backward(self, doubled, tripled):
        given = [dy * k for dy, k in ((doubled, 2.0), (tripled, 3.0)) if dy is not None]
        return sum(given[1:], given[0])


class Wrong(Operation):
    def __init__(self, answer):
        self.answer = answer

    def forward(self, a, b):
        return a + b

    def backward(self, dy):
        return self.answer(dy)


def parameter(*values, name=None):
    return Tensor(np.array(values), stores_grad=True, name=name)


@pytest.fixture
def recording():
    with training():
        yield


def mlp(x, labels):
    w0, w1 = parameter(*np.full((2, 3), 0.1), name="w0"), parameter(*np.ones((3, 2)), name="w1")
    b0, b1 = parameter(0.1, 0.2, 0.3, name="b0"), parameter(0.0, 0.0, name="b1")
    h = ops.relu(ops.add_bias(ops.matmul(x, w0), b0))
    return ops.softmax_cross_entropy(ops.add_bias(ops.matmul(h, w1), b1), labels)


@pytest.mark.usefixtures("recording")
def test_parameters_come_out_in_the_order_of_singa():
    loss = mlp(Tensor(np.ones((4, 2)), requires_grad=False), np.array([0, 1, 1, 0]))
    assert [p.name for p, _ in backward(loss)] == ["b1", "w1", "b0", "w0"]


@pytest.mark.usefixtures("recording")
def test_the_last_branch_found_is_walked_first():
    a, b, c = parameter(1.0, name="a"), parameter(2.0, name="b"), parameter(3.0, name="c")
    left, right = Scale(2.0)(a)[0], Scale(3.0)(Add()(b, c)[0])[0]
    assert [p.name for p, _ in backward(Add()(left, right)[0])] == ["b", "c", "a"]


@pytest.mark.usefixtures("recording")
def test_a_parameter_used_twice_comes_out_once_after_its_last_use():
    w, other = parameter(3.0, name="w"), parameter(1.0, name="other")
    y = Add()(Product()(w, other)[0], Scale(5.0)(w)[0])[0]
    pairs = list(backward(y))
    assert [p.name for p, _ in pairs] == ["w", "other"]
    assert [g.data.tolist() for _, g in pairs] == [[6.0], [3.0]]


@pytest.mark.usefixtures("recording")
def test_one_array_returned_for_two_inputs_is_not_changed_by_a_later_sum():
    w, b = parameter(1.0), parameter(1.0)
    y = Add()(Add()(w, b)[0], Scale(10.0)(w)[0])[0]
    found = gradients(y)
    assert found[w].data.tolist() == [11.0]
    assert found[b].data.tolist() == [1.0]


@pytest.mark.usefixtures("recording")
def test_adding_a_tensor_to_itself_doubles_its_gradient():
    w = parameter(1.0, 2.0)
    dy = np.array([1.0, 10.0])
    assert gradients(Add()(w, w)[0], dy)[w].data.tolist() == [2.0, 20.0]
    assert dy.tolist() == [1.0, 10.0]


@pytest.mark.usefixtures("recording")
def test_parameters_may_be_changed_in_place_while_the_walk_goes_on():
    def loss_and_parameters():
        w0, w1 = parameter(*np.full((2, 2), 0.5)), parameter(*np.arange(4.0).reshape(2, 2))
        h = ops.matmul(Tensor(np.array([[1.0, 2.0]])), w0)
        return ops.softmax_cross_entropy(ops.matmul(h, w1), np.array([1])), (w0, w1)

    still, (a0, a1) = loss_and_parameters()
    found = gradients(still)
    moving, (b0, b1) = loss_and_parameters()
    seen = {}
    for p, g in backward(moving):
        seen[p] = g.data.copy()
        p.data[...] = np.nan
    assert np.array_equal(seen[b0], found[a0].data)
    assert np.array_equal(seen[b1], found[a1].data)


@pytest.mark.usefixtures("recording")
def test_an_unused_output_of_an_operation_gets_no_gradient():
    w = parameter(1.0)
    doubled, tripled = Split()(w)
    assert gradients(doubled)[w].data.tolist() == [2.0]
    assert gradients(tripled)[w].data.tolist() == [3.0]
    assert gradients(Add()(doubled, tripled)[0])[w].data.tolist() == [5.0]


@pytest.mark.usefixtures("recording")
def test_a_tensor_inside_the_graph_may_store_its_gradient():
    w = parameter(2.0, name="w")
    inner = Scale(3.0)(w)[0]
    inner.stores_grad, inner.name = True, "inner"
    y = Add()(inner, Scale(2.0)(inner)[0])[0]
    y.stores_grad, y.name = True, "y"
    found = [(p.name, g.data.tolist()) for p, g in backward(y)]
    assert found == [("y", [1.0]), ("inner", [3.0]), ("w", [9.0])]


@pytest.mark.usefixtures("recording")
def test_no_gradient_flows_past_a_tensor_that_requires_none():
    w = parameter(2.0)
    cut = Scale(3.0)(w)[0]
    cut.requires_grad = False
    other = parameter(1.0)
    assert list(gradients(Add()(cut, other)[0])) == [other]


@pytest.mark.usefixtures("recording")
def test_a_second_walk_over_one_graph_gives_the_same():
    loss = mlp(Tensor(np.ones((4, 2))), np.array([0, 1, 1, 0]))
    first, second = gradients(loss), gradients(loss)
    assert all(np.array_equal(first[p].data, second[p].data) for p in first)


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize(
    "dy", [2.0, 2, np.float32(2), np.array(2.0), np.array([2.0]), Tensor(np.array(2.0))]
)
def test_dy_scales_every_gradient_whatever_its_kind(dy):
    w = parameter(*np.eye(2))
    x = Tensor(np.array([[1.0, -2.0]]))
    loss = ops.softmax_cross_entropy(ops.matmul(x, w), np.array([0]))
    assert np.array_equal(gradients(loss, dy)[w].data, 2 * gradients(loss)[w].data)


@pytest.mark.usefixtures("recording")
def test_without_dy_the_root_must_have_one_element():
    y = Scale(1.0)(parameter(1.0, 2.0))[0]
    with pytest.raises(ValueError, match="2 elements: give dy"):
        backward(y)


@pytest.mark.usefixtures("recording")
def test_a_dy_of_another_shape_is_refused_at_the_call():
    y = Scale(1.0)(parameter(1.0, 2.0))[0]
    with pytest.raises(ValueError, match=r"dy has shape \(3,\), but .* has shape \(2,\)"):
        backward(y, np.ones(3))


@pytest.mark.usefixtures("recording")
def test_a_dy_of_another_namespace_is_refused(device):
    with pytest.raises(TypeError, match="two namespaces"):
        backward(Scale(1.0)(parameter(1.0))[0], device.array([1.0]))


def test_a_root_that_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="needs a Tensor, got ndarray"):
        backward(np.ones(1))


def test_nothing_is_recorded_by_default_and_backward_says_how_to():
    w = parameter(1.0)
    y = Scale(2.0)(w)[0]
    assert not is_training()
    assert y.is_leaf
    assert not y.requires_grad
    with pytest.raises(ValueError, match=r"within autograd\.training\(\)"):
        backward(y)


def test_the_flag_ends_with_its_block_and_can_be_turned_off_inside():
    with training():
        assert is_training()
        with training(False):
            assert not is_training()
        assert is_training()
    assert not is_training()


def test_the_flag_ends_with_its_block_when_the_block_raises():
    with pytest.raises(KeyError), training():
        raise KeyError
    assert not is_training()


def test_the_flag_of_one_thread_is_not_seen_by_another():
    seen = []
    with training():
        thread = threading.Thread(target=lambda: seen.append(is_training()))
        thread.start()
        thread.join()
    assert seen == [False]


@pytest.mark.usefixtures("recording")
def test_an_operation_stands_for_one_call():
    operation = Scale(2.0)
    operation(parameter(1.0))
    with pytest.raises(RuntimeError, match="called before"):
        operation(parameter(1.0))


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda dy: (dy,), "2 inputs but backward returned 1"),
        (lambda dy: (dy, None), "no gradient for input 1"),
        (lambda dy: (dy, dy[:0]), r"came back with shape \(0,\)"),
    ],
)
def test_a_backward_that_breaks_its_contract_is_named(answer, message):
    y = Wrong(answer)(parameter(1.0), parameter(1.0))[0]
    with pytest.raises(ValueError, match=message):
        list(backward(y))


def test_an_operation_without_its_two_halves_says_which_is_missing():
    with pytest.raises(NotImplementedError, match=r"Operation\.forward"):
        Operation()(parameter(1.0))
    with pytest.raises(NotImplementedError, match=r"Operation\.backward"):
        Operation().backward(1.0)


@pytest.mark.usefixtures("recording")
def test_a_foreign_creator_is_refused():
    with pytest.raises(TypeError, match="not an Operation"):
        Scale(1.0)(Tensor(np.ones(1), creator=object()))


@pytest.mark.usefixtures("recording")
def test_a_graph_of_ten_thousand_operations_is_walked_and_freed_without_recursion():
    w = parameter(1.0)
    y = w
    for _ in range(10_000):
        y = Scale(1.0)(y)[0]
    assert gradients(y)[w].data.tolist() == [1.0]
    del y


def test_a_thousand_steps_leave_nothing_behind_without_the_collector():
    x, labels = Tensor(np.ones((4, 2))), np.array([0, 1, 1, 0])
    gc.collect()
    known = {id(o) for o in gc.get_objects() if issubclass(type(o), Operation)}
    gc.disable()
    try:
        dead = []
        for _ in range(1000):
            with training():
                loss = mlp(x, labels)
            dead.append(weakref.ref(loss.creator))
            for p, g in backward(loss):
                p.data -= 0.1 * g.data
        del loss, p, g
        assert not any(ref() for ref in dead)
        alive = [
            o for o in gc.get_objects() if issubclass(type(o), Operation) and id(o) not in known
        ]
        assert alive == []
    finally:
        gc.enable()


@pytest.mark.usefixtures("recording")
def test_an_abandoned_walk_frees_the_graph():
    loss = mlp(Tensor(np.ones((4, 2))), np.array([0, 1, 1, 0]))
    dead = weakref.ref(loss.creator)
    walk = backward(loss)
    next(walk)
    del loss, walk
    assert dead() is None


@pytest.mark.usefixtures("recording")
def test_the_graph_does_not_keep_an_input_alive_that_no_gradient_needs():
    x = Tensor(np.ones((1, 1)))
    dead = weakref.ref(x)
    y = ops.add_bias(x, parameter(1.0))
    del x
    assert dead() is None
    assert len(gradients(y)) == 1
