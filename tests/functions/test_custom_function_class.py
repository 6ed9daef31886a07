"""`fg.CustomFunction` as a class: which subclasses are abstract, and how they say so."""

import inspect
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import pytest

import ferrograd as fg
from ferrograd import CustomFunction, FunctionContext, Tensor

T = TypeVar("T")


class Incomplete(CustomFunction):
    def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
        return list(inputs)


def test_an_incomplete_subclass_cannot_be_instantiated() -> None:
    with pytest.raises(TypeError, match=r"abstract class Incomplete.*method 'backward'"):
        Incomplete()
    with pytest.raises(TypeError, match=r"abstract class CustomFunction.*'backward', 'forward'"):
        CustomFunction()


def test_abstract_classes_are_marked_as_abc_marks_them() -> None:
    class Whole(Incomplete, Generic[T]):
        def backward(self, grads: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            return list(grads)

    assert inspect.isabstract(CustomFunction)
    assert inspect.isabstract(Incomplete)
    assert not inspect.isabstract(Whole)
    assert isinstance(Whole[int](), Whole)


def test_methods_declared_with_abc_count_too() -> None:
    class Named(Incomplete, ABC):
        @abstractmethod
        def label(self) -> str: ...

    with pytest.raises(TypeError, match=r"abstract class Named.*methods 'backward', 'label'"):
        Named()


def test_a_method_given_to_the_class_later_completes_it() -> None:
    class Later(Incomplete):
        pass

    with pytest.raises(TypeError, match="'backward'"):
        Later()
    Later.backward = lambda self, grads, ctx: list(grads)  # type: ignore[method-assign]
    assert Later()(fg.ones(1)).tolist() == [1.0]


class Upwards(CustomFunction):
    """Leaves one of its methods to the abstract base."""

    def __init__(self, missing: str) -> None:
        self.missing = missing

    def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
        return super().forward(inputs, ctx) if self.missing == "forward" else [inputs[0] * 1]

    def backward(self, grads: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
        return super().backward(grads, ctx)


def test_the_methods_of_the_base_are_abstract() -> None:
    x = fg.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"CustomFunction\.forward is abstract"):
        Upwards("forward")(x)
    with pytest.raises(NotImplementedError, match=r"CustomFunction\.backward is abstract"):
        Upwards("backward")(x).sum().backward()


def test_an_attribute_that_forward_did_not_set_is_named() -> None:
    class Forgets(Upwards):
        def backward(self, grads: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            return [grads[0] * ctx.factor]

    with pytest.raises(AttributeError, match=r"no attribute .?factor.*forward did not set it"):
        Forgets("none")(fg.ones(2, requires_grad=True)).sum().backward()


def test_one_gradient_for_a_list_of_tensors_is_refused() -> None:
    class Total(fg.Function):
        @staticmethod
        def forward(ctx, parts):
            return parts[0] + parts[1]

        @staticmethod
        def backward(ctx, g):
            return (g,)

    x = fg.ones(2, requires_grad=True)
    with pytest.raises(fg.errors.FerrogradError, match="the argument is a sequence"):
        Total.apply([x, x]).sum().backward()
    assert x.grad is None
