"""What the short ways of modules must not change: who overrides them is asked."""

import abc
import gc
import weakref

import pytest

import ferrograd as fg
from ferrograd import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter([2.0])
        self.inner = nn.Identity()
        self.register_buffer("shift", fg.tensor([1.0]))

    def forward(self, x, *, times=1):
        return self.inner(x) * self.factor * times + self.shift


X = fg.tensor([3.0])


def test_members_of_every_table_are_found_and_others_are_not():
    scale = Scale()
    assert isinstance(scale.factor, nn.Parameter)
    assert scale.shift.tolist() == [1.0]
    assert isinstance(scale.inner, nn.Identity)
    with pytest.raises(AttributeError, match="'Scale' object has no attribute 'nothing'"):
        _ = scale.nothing
    assert getattr(scale, "nothing", 7) == 7
    assert not hasattr(scale, "nothing")


def test_a_member_that_goes_is_not_found_any_more():
    scale = Scale()
    del scale.factor
    assert not hasattr(scale, "factor")
    scale.factor = None
    assert scale.factor is None


def test_a_class_attribute_and_the_dict_come_before_members():
    scale = Scale()
    scale.__dict__["factor"] = fg.tensor([5.0])
    assert scale(X).tolist() == [16.0]

    class Named(Scale):
        pass

    named = Named()
    Named.factor = fg.tensor([7.0])
    assert named.factor.tolist() == [7.0]


def test_a_property_that_fails_ends_in_getattr():
    class Lost(Scale):
        @property
        def value(self):
            return self.nowhere

        @property
        def wrong(self):
            raise ValueError("no value")

    with pytest.raises(AttributeError, match="'value'"):
        _ = Lost().value
    with pytest.raises(ValueError, match="no value"):
        _ = Lost().wrong


def test_a_getattr_of_a_subclass_is_asked():
    class Forgiving(Scale):
        def __getattr__(self, name):
            if name == "extra":
                return "given"
            return super().__getattr__(name)

    made = Forgiving()
    assert made.extra == "given"
    assert made.factor.tolist() == [2.0]
    with pytest.raises(AttributeError, match="nothing"):
        _ = made.nothing

    class Later(Scale):
        pass

    later = Later()
    assert later.factor.tolist() == [2.0]
    Later.__getattr__ = lambda self, name: f"late {name}"
    assert later.other == "late other"
    assert later.factor == "late factor"


def test_a_getattribute_of_a_subclass_is_asked():
    class Counting(Scale):
        seen = 0

        def __getattribute__(self, name):
            type(self).seen += name == "factor"
            return super().__getattribute__(name)

    counting = Counting()
    before = Counting.seen
    _ = counting.factor, counting.factor
    assert Counting.seen == before + 2


def test_a_call_of_a_subclass_is_asked():
    class Doubled(Scale):
        def __call__(self, *args, **kwargs):
            return 2 * super().__call__(*args, **kwargs)

    assert Doubled()(X).tolist() == [14.0]

    class Later(Scale):
        pass

    later = Later()
    assert later(X).tolist() == [7.0]
    Later.__call__ = lambda self, x: "late"
    assert later(X) == "late"


def test_forward_of_an_instance_and_of_a_class_that_changes():
    scale = Scale()
    scale.forward = lambda x: "its own"
    assert scale(X) == "its own"
    del scale.forward
    assert scale(X).tolist() == [7.0]

    class Static(nn.Module):
        @staticmethod
        def forward(x):
            return x + 1.0

    assert Static()(X).tolist() == [4.0]
    Static.forward = lambda self, x: x + 2.0
    assert Static()(X).tolist() == [5.0]


def test_arguments_reach_forward_by_position_and_by_name():
    assert Scale()(X, times=2).tolist() == [13.0]
    assert Scale()(x=X, times=2).tolist() == [13.0]
    assert Scale()(*[X], times=2).tolist() == [13.0]
    with pytest.raises(TypeError, match="forward"):
        Scale()()
    with pytest.raises(NotImplementedError, match="has no forward"):
        nn.Module()(X)


def test_hooks_run_from_when_they_are_there_until_they_go():
    scale, seen = Scale(), []
    assert scale(X).tolist() == [7.0]
    handle = scale.register_forward_hook(lambda module, args, out: seen.append(out.item()))
    scale(X)
    handle.remove()
    scale(X)
    assert seen == [7.0]


def test_a_recorded_function_sees_a_member_that_was_replaced():
    scale = Scale()
    compiled = fg.compile(lambda x: scale(x))
    assert [compiled(X).item() for _ in range(3)] == [7.0] * 3
    scale.factor = nn.Parameter([10.0])
    assert compiled(X).item() == 31.0
    scale.inner = nn.ReLU()
    assert compiled(-X).item() == 1.0


def test_classes_with_other_bases():
    class Abstract(nn.Module, abc.ABC):
        @abc.abstractmethod
        def forward(self, x): ...

    class Mixin:
        def __call__(self, *args):
            return "mixed"

    class Mixed(Mixin, Scale):
        pass

    class Concrete(Abstract):
        def forward(self, x):
            return x

    with pytest.raises(TypeError, match="abstract"):
        Abstract()
    assert Concrete()(X) is X
    assert Mixed()(X) == "mixed"
    assert Mixed().factor.tolist() == [2.0]


def test_walks_list_each_once_in_order():
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.Sequential(nn.ReLU(), shared), nn.Linear(2, 1))
    net[2].weight = nn.Parameter(fg.ones(2, 1))
    assert [id(m) for m in net.modules()] == [id(m) for _, m in net.named_modules()]
    assert [id(p) for p in net.parameters()] == [id(p) for _, p in net.named_parameters()]
    assert len(list(net.parameters())) == 4
    wide = nn.Sequential(*[nn.Linear(1, 1) for _ in range(40)])
    assert [id(p) for p in wide.parameters()] == [id(p) for _, p in wide.named_parameters()]


def test_walks_go_into_compiled_members():
    net = nn.Sequential(nn.Linear(2, 2), fg.compile(nn.Linear(2, 3)))
    assert [tuple(p.shape) for p in net.parameters()] == [(2, 2), (2,), (2, 3), (3,)]
    assert [type(m).__name__ for m in net.modules()] == ["Sequential", "Linear", "Linear"]


def test_walks_of_a_subclass_are_asked():
    class Frozen(nn.Sequential):
        def named_parameters(self, prefix="", recurse=True):
            return iter([("only", self[0].weight)])

    class Hidden(nn.Sequential):
        def named_modules(self, prefix=""):
            return iter([("", self)])

    assert len(list(Frozen(nn.Linear(2, 2)).parameters())) == 1
    hidden = Hidden(nn.Linear(2, 2))
    assert list(hidden.modules()) == [hidden]
    assert list(hidden.parameters()) == []


def test_a_lazy_layer_still_refuses_to_list_parameters():
    with pytest.raises(fg.errors.ArgumentError, match="before its first call"):
        list(nn.Sequential(nn.LazyLinear(2)).parameters())


def test_a_method_that_ends_its_module_is_safe():
    class Ending(nn.Module):
        def forward(self, x):
            kept.clear()
            del type(self).forward
            gc.collect()
            return x

    kept = [Ending()]
    gone = weakref.ref(kept[0])
    assert kept[0](X) is X
    gc.collect()
    assert gone() is None
