"""States that PyTorch wrote: which layout the weights of linear layers have.

Other rules of `load_state_dict`: `test_modules.py`.
"""

from typing import Any, ClassVar

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn


class FromTorch(np.ndarray):
    """Stands for a torch.Tensor: what its class says is all that is asked."""

    __module__ = "torch"

    def detach(self) -> Any:
        return self

    cpu = detach

    def numpy(self) -> np.ndarray:
        return np.asarray(self)


def test_tensors_of_torch_need_a_layout() -> None:
    weight = np.array([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Linear(2, 2, bias=False)
    before = layer.weight.tolist()
    state = {"weight": weight.view(FromTorch)}
    with pytest.raises(ValueError, match=r'weight is a torch.Tensor.*pass layout="torch"'):
        layer.load_state_dict(state)
    assert layer.weight.tolist() == before
    layer.load_state_dict(state, layout="torch")
    assert layer.weight.tolist() == weight.T.tolist()
    layer.load_state_dict(state, layout="ferrograd")
    assert layer.weight.tolist() == weight.tolist()
    layer.load_state_dict({"weight": weight})
    assert layer.weight.tolist() == weight.tolist()


def test_a_state_dict_of_torch_says_its_layout() -> None:
    class State(dict[str, Any]):
        _metadata: ClassVar[Any] = {"": {"version": 1}}

    weight = np.array([[1.0, 2.0], [3.0, 4.0]])
    for state in (State(weight=weight), State(weight=weight.view(FromTorch))):
        layer = nn.Linear(2, 2, bias=False)
        layer.load_state_dict(state)
        assert layer.weight.tolist() == weight.T.tolist()


def test_torch_s_own_state() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Linear(2, 2).double()
    layer = nn.Linear(2, 2)
    layer.load_state_dict(theirs.state_dict())
    x = np.array([[1.0, -2.0]])
    want = theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(layer(fg.tensor(x)).detach().numpy(), want)
    with pytest.raises(ValueError, match="layout"):
        layer.load_state_dict(dict(theirs.state_dict()))
