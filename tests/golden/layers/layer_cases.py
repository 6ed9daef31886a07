"""What `layers.py` computes with PyTorch and `test_golden_layers.py` with ours: the same texts.

Owns: the cases and how their numbers are made. A text is evaluated with `nn` and `F` of either
package; `make` gives a module or a function, `inputs` the arguments: shapes to be filled, or texts
with `arr` for whole numbers and masks. A module gets its state from `fill` by PyTorch's layout.
"""

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One call; `key` names its values in the file."""

    make: str
    inputs: tuple[Any, ...]
    named: dict[str, Any] = field(default_factory=dict)
    train: bool = True
    #: Whether PyTorch has the second derivative.
    twice: bool = True
    #: Which inputs are of (0, 1).
    positive: bool = False
    #: PyTorch computes some derivatives with constants of single precision.
    rtol: float = 1e-9

    @property
    def key(self) -> str:
        """The text that names the case."""
        named = "".join(f", {k}={v}" for k, v in self.named.items())
        mode = "" if self.train else " eval"
        return f"{self.make} {', '.join(map(str, self.inputs))}{named}{mode}"


def fill(name: str, shape: tuple[int, ...], low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Numbers that depend on the name and the place only, exact in every library."""
    count, start = int(np.prod(shape)), zlib.crc32(name.encode())
    places = np.arange(count, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(start)
    mixed = (places ^ (places >> np.uint64(15))) * np.uint64(2246822519) & np.uint64(0xFFFFFFFF)
    mixed = (mixed ^ (mixed >> np.uint64(13))) * np.uint64(3266489917) & np.uint64(0xFFFFFFFF)
    unit = (mixed ^ (mixed >> np.uint64(16))).astype(np.float64) / 2.0**32
    return (low + (high - low) * unit).reshape(shape)


def state_value(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """What a parameter or buffer holds."""
    last = name.rpartition(".")[2]
    if last in ("running_var", "original0", "pos_weight"):
        return fill(name, shape, 0.5, 1.5)
    value = fill(name, shape)
    return value / np.linalg.norm(value) if last in ("_u", "_v") else value


MASK = "arr([[0, 0, 1, 0], [0, 0, 0, 1]]) > 0"
CAUSAL = "arr([[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]) > 0"


def rows(text: str, inputs: tuple[Any, ...], **options: Any) -> list[Case]:
    """A case for each line of a text."""
    return [Case(line.strip(), inputs, **options) for line in text.strip().splitlines()]


SIMPLE = rows(
    """
    nn.ELU(0.7)
    nn.Hardshrink(0.3)
    nn.Hardtanh(-0.4, 0.6)
    nn.Hardswish()
    nn.LeakyReLU(0.2)
    nn.LogSigmoid()
    nn.PReLU()
    nn.PReLU(3)
    nn.ReLU()
    nn.ReLU6()
    nn.SELU()
    nn.GELU()
    nn.GELU(approximate='tanh')
    nn.Sigmoid()
    nn.SiLU()
    nn.Mish()
    nn.Softplus()
    nn.Softplus(2.0, 1.0)
    nn.Softshrink(0.3)
    nn.Softsign()
    nn.Tanh()
    nn.Tanhshrink()
    nn.Threshold(0.2, -3.0)
    nn.Softmin(dim=1)
    nn.Softmax(dim=1)
    nn.LogSoftmax(dim=1)
    lambda x: F.normalize(x, 3.0, 1)
    """,
    ((2, 3),),
)
ACTIVATIONS = [
    *SIMPLE,
    Case("nn.Hardsigmoid()", ((2, 3),), rtol=1e-6),
    Case("nn.CELU(0.6)", ((2, 3),), rtol=1e-6),
    Case("nn.RReLU()", ((2, 3),), train=False),
    Case("nn.GLU(1)", ((2, 4),)),
    Case("nn.Softmax2d()", ((1, 3, 2, 2),)),
]

CONVOLUTIONS = [
    Case("nn.Conv1d(2, 3, 3)", ((2, 2, 6),)),
    Case("nn.Conv1d(2, 4, 2, 2, 1, 2, 2, False)", ((2, 2, 6),)),
    Case("nn.Conv1d(2, 2, 3, padding=2, padding_mode='reflect')", ((2, 2, 5),)),
    Case("nn.Conv1d(2, 2, 4, padding='same', padding_mode='circular')", ((2, 6),)),
    Case("nn.Conv2d(2, 2, 2)", ((1, 2, 3, 4),)),
    Case("nn.Conv2d(2, 4, (2, 3), stride=(2, 1), padding=(1, 2), groups=2)", ((1, 2, 4, 3),)),
    Case("nn.Conv2d(2, 2, 2, padding='same', dilation=2)", ((2, 3, 4),)),
    Case("nn.Conv2d(1, 2, 3, padding=1, padding_mode='replicate')", ((1, 1, 3, 3),)),
    Case("nn.Conv3d(2, 2, 2)", ((1, 2, 3, 2, 3),)),
    Case("nn.Conv3d(2, 4, 2, (2, 1, 1), 1, (1, 2, 1), 2)", ((1, 2, 3, 2, 2),)),
    Case("nn.Conv3d(1, 1, (3, 2, 1), padding='same', bias=False)", ((1, 2, 3, 2),)),
    Case("nn.ConvTranspose1d(2, 3, 3)", ((2, 2, 4),)),
    Case("nn.ConvTranspose1d(2, 4, 3, 2, 1, 1, 2, False, 2)", ((2, 3),)),
    Case("nn.ConvTranspose2d(2, 2, 2)", ((1, 2, 2, 3),)),
    Case("nn.ConvTranspose2d(2, 4, 3, 2, 1, (1, 0), 2)", ((1, 2, 2, 3),)),
    Case("nn.ConvTranspose3d(2, 3, 2)", ((1, 2, 2, 2, 3),)),
    Case(
        "nn.ConvTranspose3d(2, 4, (2, 3, 2), (2, 1, 2), (1, 0, 1), (1, 0, 0), 2, False, (2, 1, 2))",
        ((2, 3, 2, 2),),
    ),
    Case("nn.ConvTranspose2d(1, 1, 3, 2)", ((1, 1, 2, 2),), named={"output_size": "[6, 5]"}),
    Case("nn.Unfold((2, 3), dilation=(1, 2), padding=1, stride=2)", ((1, 2, 4, 5),)),
    Case("nn.Fold((4, 5), (2, 2), dilation=1, padding=1, stride=(2, 1))", ((1, 4, 18),)),
]

POOLS = [
    Case("nn.MaxPool1d(2)", ((2, 2, 5),)),
    Case("nn.MaxPool1d(3, 2, 1, 2, ceil_mode=True)", ((2, 7),)),
    Case("nn.MaxPool2d((2, 3), 1, 1)", ((1, 2, 3, 4),)),
    Case("nn.MaxPool2d(2, ceil_mode=True)", ((2, 3, 5),)),
    Case("lambda x: F.max_pool2d(x, 2, return_indices=True)[1] * x[..., :1, :1]", ((1, 2, 2, 4),)),
    Case("nn.MaxPool3d((2, 3, 2), (1, 2, 1), (1, 1, 0))", ((1, 2, 3, 4, 3),)),
    *(
        Case(f"lambda x: F.fractional_max_pool{n}d(x, {how}, False, num([[{drawn}]]))", inputs)
        for n, how, drawn, inputs in (
            (2, "2, (3, 2), None", "[0.3, 0.8], [0.6, 0.1]", ((1, 2, 6, 5),)),
            (2, "(1, 3), None, (0.7, 0.4)", "[0.95, 0.4]", ((1, 1, 5, 7),)),
            (3, "(2, 1, 2), None, 0.5", "[0.3, 0.8, 0.5]", ((1, 1, 4, 3, 6),)),
        )
    ),
    Case(
        "lambda x: F.fractional_max_pool2d(x, 2, 3, None, True, num([[[0.7, 0.2]]]))[1]"
        " * x[..., :3, :3]",
        ((1, 1, 6, 5),),
    ),
    Case("nn.MaxPool3d(2, 2, 0, (2, 1, 1), ceil_mode=True)", ((1, 4, 3, 5),)),
    Case("nn.AvgPool1d(3, 2, 1)", ((2, 2, 6),)),
    Case("nn.AvgPool1d(2, ceil_mode=True, count_include_pad=False)", ((2, 5),)),
    Case("nn.AvgPool2d(2, 1, 1, count_include_pad=False)", ((1, 1, 3, 3),)),
    Case("nn.AvgPool2d((2, 3), divisor_override=4)", ((1, 2, 4, 3),)),
    Case("nn.AvgPool3d(2, 1, 1, count_include_pad=False)", ((1, 2, 2, 3, 2),)),
    Case("nn.AvgPool3d((2, 3, 1), (2, 2, 1), (0, 1, 0), ceil_mode=True)", ((1, 3, 4, 2),)),
    Case("nn.AvgPool3d(2, divisor_override=3)", ((1, 1, 4, 2, 3),)),
    Case("nn.AdaptiveAvgPool3d((2, None, 3))", ((1, 2, 3, 2, 5),)),
    Case("nn.AdaptiveAvgPool1d(3)", ((2, 2, 7),)),
    Case("nn.AdaptiveAvgPool2d((None, 2))", ((1, 2, 3, 5),)),
    Case("nn.AdaptiveMaxPool1d(3)", ((2, 2, 7),)),
    Case("nn.AdaptiveMaxPool2d((2, 3))", ((1, 2, 3, 5),)),
    Case("lambda x: F.adaptive_max_pool2d(x, 2, True)[1] * x[..., :2, :2]", ((1, 2, 3, 5),)),
    Case("nn.AdaptiveMaxPool3d((2, None, 3))", ((1, 2, 3, 2, 5),)),
    Case("nn.LPPool3d(3, 2, 1)", ((1, 2, 3, 2, 3),), positive=True),
    Case("nn.MaxUnpool1d(2)", ((1, 2, 2), "arr([[[1, 2], [0, 3]]])")),
    Case("nn.MaxUnpool2d(2, 1)", ((1, 1, 2, 2), "arr([[[[0, 2], [3, 8]]]])")),
    Case("nn.MaxUnpool3d(2)", ((1, 1, 1, 1, 2), "arr([[[[[5, 15]]]]])")),
    Case("nn.LPPool1d(2, 3, 2)", ((2, 2, 7),), positive=True),
    Case("nn.LPPool2d(3, 2)", ((1, 2, 4, 4),), positive=True),
]

SAMPLES = [
    Case("lambda t: F.affine_grid(t, (2, 1, 2, 3), align_corners=False)", ((2, 2, 3),)),
    Case("lambda t: F.affine_grid(t, (1, 1, 2, 1, 3), align_corners=True)", ((1, 3, 4),)),
    *[
        Case(f"lambda x, g: F.grid_sample(x, {scale} * g, {options})", shapes, twice=False)
        for scale, options, shapes in [
            (1.2, "align_corners=False", ((2, 2, 3, 4), (2, 2, 5, 2))),
            (1.2, "align_corners=True", ((1, 2, 3, 4), (1, 2, 5, 2))),
            (1.5, "'bilinear', 'border', False", ((1, 2, 3, 4), (1, 2, 5, 2))),
            (3.0, "'bilinear', 'reflection', False", ((1, 2, 3, 4), (1, 2, 5, 2))),
            (3.0, "'bilinear', 'reflection', True", ((1, 2, 3, 4), (1, 2, 5, 2))),
            (1.2, "'nearest', 'zeros', False", ((1, 2, 3, 4), (1, 2, 5, 2))),
            (1.2, "align_corners=False", ((1, 2, 3, 2, 4), (1, 2, 2, 3, 3))),
        ]
    ],
]

NORMS = [
    Case(text, shapes, train=train)
    for train in (True, False)
    for text, shapes in [
        ("nn.BatchNorm1d(3)", ((4, 3),)),
        ("nn.BatchNorm1d(2, 1e-3, None)", ((2, 2, 3),)),
        ("nn.BatchNorm2d(2, momentum=0.3, affine=False)", ((2, 2, 2, 2),)),
        ("nn.BatchNorm2d(2, track_running_stats=False)", ((2, 2, 2, 2),)),
        ("nn.BatchNorm3d(2)", ((2, 2, 1, 2, 2),)),
        ("nn.InstanceNorm1d(2)", ((2, 2, 3),)),
        ("nn.InstanceNorm1d(2, affine=True, track_running_stats=True)", ((2, 2, 3),)),
        ("nn.InstanceNorm2d(2, track_running_stats=True)", ((2, 2, 3),)),
        ("nn.InstanceNorm3d(2, affine=True)", ((1, 2, 1, 2, 2),)),
    ]
] + [
    Case("nn.LayerNorm((2, 3))", ((2, 2, 3),)),
    Case("nn.LayerNorm(3, 1e-2, bias=False)", ((2, 3),)),
    Case("nn.LayerNorm(3, elementwise_affine=False)", ((2, 3),)),
    Case("nn.GroupNorm(2, 4)", ((2, 4, 3),)),
    Case("nn.GroupNorm(1, 4, affine=False)", ((2, 4, 2),)),
    Case("nn.RMSNorm(3)", ((2, 3),)),
    Case("nn.RMSNorm((2, 3), 0.1, False)", ((2, 2, 3),)),
    Case("nn.LocalResponseNorm(3, 0.5, 0.7, 2.0)", ((1, 4, 2),)),
]

SHAPES = [
    Case("nn.Flatten()", ((2, 2, 3),)),
    Case("nn.Flatten(0, 1)", ((2, 2, 3),)),
    Case("nn.Unflatten(1, (2, 3))", ((2, 6),)),
    Case("nn.Identity(54)", ((2, 2),)),
    Case("nn.PixelShuffle(2)", ((1, 8, 2, 1),)),
    Case("nn.PixelUnshuffle(2)", ((1, 2, 4, 2),)),
    Case("nn.ChannelShuffle(2)", ((1, 4, 2),)),
    Case("nn.ConstantPad1d((1, -1), 0.5)", ((1, 2, 3),)),
    Case("nn.ConstantPad2d(1, 2.5)", ((1, 1, 2, 2),)),
    Case("nn.ZeroPad2d((1, 0, 2, 1))", ((1, 1, 2, 2),)),
    Case("nn.ReflectionPad1d(2)", ((1, 2, 3),)),
    Case("nn.ReflectionPad2d((1, 1, 0, 1))", ((1, 1, 2, 3),)),
    Case("nn.ReplicationPad1d((2, 1))", ((2, 2),)),
    Case("nn.ReplicationPad3d(1)", ((1, 1, 2, 1, 1),)),
    Case("nn.CircularPad2d((1, 1, 1, 0))", ((1, 1, 2, 2),)),
    Case("nn.Upsample(scale_factor=2)", ((1, 2, 3),)),
    Case("nn.Upsample((3, 5), mode='nearest-exact')", ((1, 1, 2, 3),)),
    Case("nn.Upsample(5, mode='linear')", ((1, 2, 3),)),
    Case("nn.Upsample(scale_factor=1.7, mode='linear', align_corners=True)", ((1, 2, 3),)),
    Case("nn.Upsample((3, 5), mode='bilinear')", ((1, 1, 2, 3),)),
    Case(
        "nn.Upsample(scale_factor=(2, 0.5), mode='bilinear', align_corners=True)", ((1, 1, 2, 4),)
    ),
    Case(
        "nn.Upsample(scale_factor=1.6, mode='bilinear', recompute_scale_factor=True)",
        ((1, 1, 2, 3),),
    ),
    Case("nn.Upsample((4, 3), mode='bicubic', align_corners=False)", ((1, 1, 3, 2),)),
    Case("nn.Upsample((2, 3, 2), mode='trilinear')", ((1, 1, 1, 2, 3),)),
    Case("nn.UpsamplingNearest2d(scale_factor=2)", ((1, 1, 2, 2),)),
    Case("nn.UpsamplingBilinear2d((3, 3))", ((1, 1, 2, 2),)),
    Case("lambda x: F.interpolate(x, (2, 3), mode='area')", ((1, 1, 3, 4),)),
    *(
        Case(f"lambda x: F.interpolate(x, {how}, antialias=True)", ((1, 2, 5, 7),), twice=False)
        for how in (
            "(2, 3), mode='bilinear'",
            "(3, 9), mode='bicubic'",
            "(2, 4), mode='bilinear', align_corners=True",
            "(1, 3), mode='bicubic', align_corners=True",
            "scale_factor=0.6, mode='bilinear'",
        )
    ),
]

NUMBERS = "arr([[1, 0, 3], [1, 1, 4]])"
TABLES = [
    Case("nn.Embedding(5, 2)", (NUMBERS,)),
    Case("nn.Embedding(5, 2, padding_idx=1)", (NUMBERS,)),
    Case("nn.Embedding(5, 2, -1, 0.5, 1.0)", (NUMBERS,), twice=False),
    Case("nn.Embedding(5, 2, scale_grad_by_freq=True)", (NUMBERS,)),
    Case("nn.EmbeddingBag(5, 2)", (NUMBERS,)),
    Case("nn.EmbeddingBag(5, 2, mode='sum', padding_idx=1)", (NUMBERS,)),
    Case("nn.EmbeddingBag(5, 2, mode='mean', padding_idx=1)", (NUMBERS,)),
    Case("nn.EmbeddingBag(5, 2)", ("arr([1, 0, 3, 1])", "arr([0, 3, 3])")),
    Case("nn.EmbeddingBag(5, 2, mode='max')", (NUMBERS,)),
    Case(
        "nn.EmbeddingBag(5, 2, mode='max', padding_idx=1)",
        ("arr([1, 0, 3, 1, 4])", "arr([0, 3, 3])"),
    ),
    Case(
        "nn.EmbeddingBag(5, 2, mode='sum', include_last_offset=True)",
        ("arr([1, 0, 3, 1])", "arr([0, 2, 4])"),
        named={"per_sample_weights": "num([0.5, 2.0, -1.0, 0.25])"},
    ),
    Case("nn.Linear(3, 2)", ((2, 3),)),
    Case("nn.Linear(3, 2, bias=False)", ((2, 2, 3),)),
    Case("nn.Bilinear(2, 3, 2)", ((2, 2), (2, 3))),
    Case("nn.Bilinear(2, 3, 2, bias=False)", ((2,), (3,))),
    Case("nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))", ((2, 3),)),
    # PyTorch's second derivative of these fails its own gradgradcheck.
    Case("nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))", ((2, 3),), twice=False),
    *(
        Case(f"nn.utils.parametrizations.orthogonal(nn.{layer}, orthogonal_map='{how}')", shape)
        for how in ("matrix_exp", "cayley")
        for layer, shape in (
            ("Linear(3, 3)", ((2, 3),)),
            ("Linear(2, 4)", ((2, 2),)),
            ("Linear(4, 2)", ((2, 4),)),
            ("Conv1d(2, 3, 2)", ((1, 2, 3),)),
        )
    ),
    Case("nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 3, 2), dim=None)", ((1, 2, 3),)),
    Case("nn.utils.parametrizations.weight_norm(nn.Linear(3, 2), dim=1)", ((2, 3),), twice=False),
    Case("nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))", ((2, 3),)),
    Case("nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))", ((2, 3),), train=False),
    Case(
        "nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 2), 'weight', 2)",
        ((1, 2, 2),),
    ),
    Case("nn.utils.parametrizations.spectral_norm(nn.Conv1d(2, 3, 2))", ((1, 2, 3),)),
]

LAYERS = [*ACTIVATIONS, *CONVOLUTIONS, *POOLS, *SAMPLES, *NORMS, *SHAPES, *TABLES]
