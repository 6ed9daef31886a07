"""Images read between their elements: derivatives, and what does not reach a sample."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

F = fg.nn.functional


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_samples_are_functions_of_any_order(padding: str) -> None:
    rng = np.random.default_rng(6)
    x = fg.tensor(rng.normal(size=(2, 2, 3, 4)), requires_grad=True)
    grid = fg.tensor(rng.random((2, 2, 3, 2)) * 2.4 - 1.2, requires_grad=True)

    def sample(x: Any, grid: Any) -> Any:
        return F.grid_sample(x, grid, padding_mode=padding)

    fg.gradcheck(sample, (x, grid))
    fg.gradgradcheck(sample, (x, grid))
    image = x.detach().numpy()
    whole = fg.jacobian(lambda g: sample(image, g))(grid.detach().numpy())
    assert whole.shape == (2, 2, 2, 3, 2, 2, 3, 2)
    one = np.random.default_rng(7).normal(size=(2, 2, 2, 3))
    (sample(x.detach(), grid) * one).sum().backward()
    np.testing.assert_allclose(np.tensordot(one, whole, 4), grid.grad.numpy(), atol=1e-12)


def test_what_is_outside_does_not_reach_a_sample() -> None:
    image = np.full((1, 1, 3, 3), np.inf)
    image[0, 0, 1, 1] = 2.0
    at = np.array([[[[0.0, 0.0], [9.0, 0.0], [-9.0, np.inf], [np.nan, 0.0], [1e300, 1e300]]]])
    found = F.grid_sample(fg.tensor(image), fg.tensor(at), "nearest").reshape(-1).tolist()
    assert found == [2.0, 0.0, 0.0, 0.0, 0.0]
    found = F.grid_sample(fg.tensor(image), fg.tensor(at)).reshape(-1).tolist()
    # The places beside the one in the middle have the weight zero.
    assert np.isnan(found[0])
    assert np.isnan(found[3])
    assert found[1] == found[4] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_a_coordinate_that_is_no_number_is_the_first_element(mode: str, dtype: Any) -> None:
    image = fg.tensor(np.arange(1, 17, dtype=dtype).reshape(1, 1, 4, 4))
    grid = np.array([[np.nan, -1], [np.nan, np.nan], [-1, np.nan]], dtype).reshape(1, 1, 3, 2)
    for padding in ("border", "reflection"):
        leaf = fg.tensor(grid, requires_grad=True)
        found = F.grid_sample(image, leaf, mode, padding)
        assert found.reshape(-1).tolist() == [1.0, 1.0, 1.0]
        if mode == "bilinear":
            found.sum().backward()
            assert leaf.grad.reshape(-1).tolist() == [0.0] * 6


def test_samples_of_nothing() -> None:
    assert F.grid_sample(fg.zeros(1, 2, 0, 3), fg.zeros(1, 2, 2, 2)).tolist() == [
        [[[0.0] * 2] * 2] * 2
    ]
    assert F.grid_sample(fg.zeros(1, 2, 3, 3), fg.zeros(1, 0, 2, 2)).shape == (1, 2, 0, 2)
    with pytest.raises(fg.errors.ArgumentError, match="interpolate_axis: size=0"):
        F.interpolate_axis(fg.ones(3), 0, 0, 1.0)
    with pytest.raises(fg.errors.ArgumentError, match="an axis of 0 elements"):
        F.interpolate_axis(fg.ones(0), 0, 2, 1.0)


def test_sizes_beyond_memory_are_refused() -> None:
    with pytest.raises(MemoryError):
        F.interpolate_axis(fg.ones(3), 0, 1 << 58, 1.0)
