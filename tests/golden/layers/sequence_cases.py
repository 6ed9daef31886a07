"""The cases of `layers.py` that are sequences: recurrent layers, attention, transformers.

Owns: the rows. What a row says: `layer_cases.py`.
"""

from layer_cases import CAUSAL, MASK, Case

CELLS = [
    Case("nn.RNNCell(3, 2)", ((2, 3), (2, 2))),
    Case("nn.RNNCell(3, 2, False, 'relu')", ((2, 3), (2, 2))),
    Case("nn.LSTMCell(3, 2)", ((2, 3),)),
    Case("nn.GRUCell(3, 2)", ((2, 3), (2, 2))),
    Case("nn.GRUCell(2, 3, bias=False)", ((2,), (3,))),
]

RECURRENT = [
    Case("nn.RNN(2, 2)", ((3, 2, 2),)),
    Case("nn.RNN(2, 2, 2, 'relu', batch_first=True, bidirectional=True)", ((2, 3, 2), (4, 2, 2))),
    Case("nn.LSTM(2, 2)", ((3, 2, 2),)),
    Case("nn.LSTM(2, 2, 2, False, bidirectional=True, batch_first=True)", ((2, 3, 2),)),
    Case("nn.LSTM(2, 3, proj_size=2)", ((3, 2, 2),)),
    Case("nn.LSTM(2, 2)", ((3, 2),)),
    Case("nn.GRU(2, 2)", ((3, 2, 2), (1, 2, 2))),
    Case("nn.GRU(2, 2, num_layers=2, bidirectional=True)", ((3, 2, 2),)),
    Case("nn.GRU(2, 2, batch_first=True, bias=False)", ((3, 2), (1, 2))),
]

PACKED = [
    Case(f"nn.{kind}", (f"rnn.pack_padded_sequence(num({numbers}), arr([3, 1]), {first}, False)",))
    for kind, numbers, first in [
        ("LSTM(1, 2)", "[[[0.5], [-1.0]], [[0.25], [7.0]], [[-0.5], [9.0]]]", False),
        (
            "LSTM(1, 2, 2, bidirectional=True)",
            "[[[0.5], [-1.0], [2.0]], [[0.25], [7.0], [1.0]]]",
            True,
        ),
        ("GRU(1, 2, bidirectional=True)", "[[[0.5], [-1.0], [2.0]], [[0.25], [7.0], [1.0]]]", True),
        ("RNN(1, 2)", "[[[0.5], [-1.0]], [[0.25], [7.0]], [[-0.5], [9.0]]]", False),
    ]
]

ATTENTION = [
    Case("nn.MultiheadAttention(4, 2)", ((2, 1, 4), (3, 1, 4), (3, 1, 4))),
    Case(
        "nn.MultiheadAttention(2, 1, batch_first=True)",
        ((1, 2, 2), (1, 3, 2), (1, 3, 2)),
        named={"average_attn_weights": "False"},
    ),
    Case(
        "nn.MultiheadAttention(4, 2, bias=False, kdim=3, vdim=2)",
        ((2, 1, 4), (3, 1, 3), (3, 1, 2)),
        named={"need_weights": "False"},
    ),
    Case(
        "nn.MultiheadAttention(2, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)",
        ((2, 2, 2), (2, 4, 2), (2, 4, 2)),
        named={"key_padding_mask": MASK},
    ),
    Case("nn.MultiheadAttention(2, 2)", ((4, 2), (4, 2), (4, 2)), named={"attn_mask": CAUSAL}),
    Case(
        "nn.MultiheadAttention(2, 2, batch_first=True)",
        ((2, 4, 2), (2, 4, 2), (2, 4, 2)),
        named={"attn_mask": CAUSAL, "key_padding_mask": MASK, "need_weights": "False"},
    ),
    Case(
        "nn.MultiheadAttention(2, 1)",
        ((2, 2), (2, 2), (2, 2)),
        named={"attn_mask": "num([[0.0, -0.5], [0.25, 1.0]])"},
    ),
]

ATTENTION += [
    Case(
        "F.scaled_dot_product_attention",
        ((1, 4, 2, 2), (1, 2, 3, 2), (1, 2, 3, 2)),
        named={"enable_gqa": "True"},
    ),
]

ENCODER = "nn.TransformerEncoderLayer(2, 1, 3, 0.0{})"
DECODER = "nn.TransformerDecoderLayer(2, 1, 3, 0.0{})"
TRANSFORMERS = [
    Case(ENCODER.format(""), ((2, 1, 2),)),
    Case(
        ENCODER.format(", 'gelu', batch_first=True, norm_first=True"),
        ((2, 4, 2),),
        named={"src_key_padding_mask": MASK},
    ),
    Case(
        ENCODER.format(", bias=False, batch_first=True"), ((1, 4, 2),), named={"src_mask": CAUSAL}
    ),
    Case(f"nn.TransformerEncoder({ENCODER.format('')}, 2, nn.LayerNorm(2))", ((2, 1, 2),)),
    Case(DECODER.format(""), ((2, 1, 2), (3, 1, 2))),
    Case(
        DECODER.format(", norm_first=True, batch_first=True"),
        ((1, 4, 2), (1, 3, 2)),
        named={"tgt_mask": CAUSAL},
    ),
    Case(
        "nn.Transformer(2, 1, 1, 1, 2, 0.0)",
        ((2, 1, 2), (2, 1, 2)),
        named={"tgt_mask": "nn.Transformer.generate_square_subsequent_mask(2)"},
    ),
]

SEQUENCES = [*CELLS, *RECURRENT, *PACKED, *ATTENTION, *TRANSFORMERS]
