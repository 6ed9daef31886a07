"""The cases of `layers.py` that are losses and distances.

Owns: the rows. What a row says: `layer_cases.py`.
"""

from layer_cases import Case

PAIR = ((2, 3), (2, 3))
SIGNS = "num([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])"
WEIGHTS = "num([[1.0, 0.5, 2.0], [0.0, 1.5, 3.0]])"
LABELS, PLACES = "arr([1, 0])", "arr([[1, 2], [0, -100]])"


def each(make: str, inputs: tuple, **options: bool) -> list[Case]:
    """A case for each reduction; `{}` stands for it."""
    return [
        Case(make.format(f"reduction='{r}'"), inputs, **options) for r in ("mean", "sum", "none")
    ]


VALUES = [
    *each("nn.L1Loss({})", PAIR),
    *each("nn.MSELoss({})", PAIR),
    *each("nn.SmoothL1Loss({}, beta=0.5)", PAIR),
    *each("nn.HuberLoss({}, delta=0.5)", PAIR),
    *(
        Case(f"F.{name}", PAIR, named={"reduction": f"'{r}'", "weight": WEIGHTS})
        for name in ("mse_loss", "l1_loss", "huber_loss")
        for r in ("mean", "sum", "none")
    ),
    *each("nn.PoissonNLLLoss({})", PAIR),
    *each(
        "nn.PoissonNLLLoss(False, True, {})",
        ((2, 3), "num([[0.0, 1.0, 2.0], [3.0, 1.5, 0.5]])"),
        positive=True,
    ),
    *each("nn.GaussianNLLLoss({})", ((2, 3), (2, 3), (2, 3)), positive=True),
    *each("nn.GaussianNLLLoss(full=True, eps=0.3, {})", ((2, 3), (2, 3), (2, 1)), positive=True),
    Case("nn.GaussianNLLLoss()", ((2, 3), (2, 3), (2,)), positive=True),
]

CLASSES = [
    *each("nn.CrossEntropyLoss({})", ((2, 3), LABELS)),
    *each("nn.CrossEntropyLoss(num([0.5, 2.0, 1.0]), label_smoothing=0.1, {})", ((2, 3), LABELS)),
    *each("nn.CrossEntropyLoss({})", ((2, 3, 2), PLACES)),
    Case("nn.CrossEntropyLoss()", PAIR),
    Case("nn.CrossEntropyLoss()", ((3,), "arr(2)")),
    *each("nn.NLLLoss({})", ((2, 3), LABELS)),
    Case("nn.AdaptiveLogSoftmaxWithLoss(16, 9, [2, 5])", ((4, 16), "arr([0, 8, 3, 4])")),
    Case("nn.AdaptiveLogSoftmaxWithLoss(4, 7, [3], 2.0, True)", ((3, 4), "arr([0, 2, 6])")),
    Case("nn.AdaptiveLogSoftmaxWithLoss(4, 7, [3])", ((4,), "arr(5)")),
    *each("nn.NLLLoss(num([0.5, 2.0, 1.0]), ignore_index=1, {})", ((2, 3), LABELS)),
    *each("nn.BCELoss({})", PAIR, positive=True),
    *each("nn.BCELoss(num([0.5, 2.0, 1.0]), {})", PAIR, positive=True),
    *each("nn.BCEWithLogitsLoss({})", PAIR),
    *each("nn.BCEWithLogitsLoss(num([0.5, 2.0, 1.0]), pos_weight=num([2.0, 1.0, 3.0]), {})", PAIR),
    *each("nn.KLDivLoss({})", PAIR, positive=True),
    Case("nn.KLDivLoss(reduction='batchmean', log_target=True)", PAIR),
    *each("nn.SoftMarginLoss({})", ((2, 3), SIGNS)),
    *each("nn.MultiLabelSoftMarginLoss({})", ((2, 3), SIGNS + ".clip(0.0)")),
    *each("nn.MultiLabelSoftMarginLoss(num([0.5, 2.0, 1.0]), {})", ((2, 3), SIGNS + ".clip(0.0)")),
    *each("nn.MultiLabelMarginLoss({})", ((2, 3), "arr([[2, 0, -1], [1, -1, 0]])")),
    Case("nn.MultiLabelMarginLoss()", ((3,), "arr([2, -1, 0])")),
    *each("nn.MultiMarginLoss({})", ((2, 3), LABELS)),
    *each("nn.MultiMarginLoss(2, 0.5, num([0.5, 2.0, 1.0]), {})", ((2, 3), LABELS)),
    Case("nn.MultiMarginLoss()", ((3,), "arr(2)")),
]

PAIRS = [
    *each("nn.HingeEmbeddingLoss({})", ((2, 3), SIGNS)),
    *each("nn.MarginRankingLoss(0.2, {})", (*PAIR, SIGNS)),
    *each("nn.CosineEmbeddingLoss({})", (*PAIR, "num([1.0, -1.0])")),
    *each("nn.CosineEmbeddingLoss(-0.5, {})", (*PAIR, "num([-1.0, -1.0])")),
    Case("nn.CosineEmbeddingLoss()", ((3,), (3,), "num(1.0)")),
    *each("nn.TripletMarginLoss({})", (*PAIR, (2, 3))),
    *each("nn.TripletMarginLoss(2.0, 3.0, swap=True, {})", (*PAIR, (2, 3))),
    Case("nn.TripletMarginWithDistanceLoss()", (*PAIR, (2, 3))),
    Case(
        "nn.TripletMarginWithDistanceLoss("
        "distance_function=lambda a, b: ((a - b) ** 2).sum(-1), swap=True, margin=3.0)",
        (*PAIR, (2, 3)),
    ),
    Case("nn.PairwiseDistance()", PAIR),
    Case("nn.PairwiseDistance(1.0, 1e-3, True)", PAIR),
    Case("nn.CosineSimilarity()", PAIR),
    Case("nn.CosineSimilarity(0, 0.1)", PAIR),
    Case("lambda x: F.pdist(x)", ((3, 2),), twice=False),
    Case("lambda x: F.pdist(x, 1.0)", ((3, 2),), twice=False),
]

#: The logarithms come from logits: see `F.ctc_loss` on PyTorch's gradient.
LOGITS = "lambda x, t, n, m: nn.CTCLoss({})(F.log_softmax(x, dim=-1), t, n, m)"
CTC = [
    *each(
        LOGITS.format("{}"),
        ((4, 2, 3), "arr([[1, 1], [2, 0]])", "arr([4, 3])", "arr([2, 1])"),
        twice=False,
    ),
    Case(
        LOGITS.format("2"), ((4, 2, 3), "arr([0, 1, 0])", "arr([4, 2])", "arr([2, 1])"), twice=False
    ),
    Case(
        LOGITS.format("zero_infinity=True, reduction='none'"),
        ((3, 2, 3), "arr([[1, 1], [2, 1]])", "arr([2, 3])", "arr([2, 2])"),
        twice=False,
    ),
    Case(LOGITS.format(""), ((4, 3), "arr([1, 2])", "arr(4)", "arr(2)"), twice=False),
    Case(
        LOGITS.format("reduction='sum'"),
        ((3, 1, 3), "arr([[1]])", "arr([3])", "arr([0])"),
        twice=False,
    ),
]

LOSSES = [*VALUES, *CLASSES, *PAIRS, *CTC]
