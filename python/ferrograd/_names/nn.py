"""The names of `nn` and of `nn.functional` that are not operations of the core."""

from __future__ import annotations

from ferrograd._names.name_table import NameGroup

_LAYER = "nn.*"
_FUNCTION = "nn.functional.*"

NN = (
    NameGroup("nn", "functional init utils", torch=_LAYER, are_modules=True),
    NameGroup("nn._module", "Module", torch=_LAYER),
    NameGroup("nn._parameter", "Buffer Parameter", torch=_LAYER),
    NameGroup("nn._state_dict", "LoadReport"),
    NameGroup("nn._summary", "Summary"),
    NameGroup(
        "nn.layers.activation",
        "CELU ELU GELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU "
        "LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 RReLU Sigmoid SiLU Softmax Softmax2d "
        "Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold",
        torch=_LAYER,
    ),
    NameGroup("nn.layers.activation", "Activation"),
    NameGroup("nn.layers.adaptive", "AdaptiveLogSoftmaxWithLoss", torch=_LAYER),
    NameGroup(
        "nn.layers.container",
        "ModuleDict ModuleList ParameterDict ParameterList Sequential",
        torch=_LAYER,
    ),
    NameGroup(
        "nn.layers.convolution",
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        torch=_LAYER,
    ),
    NameGroup(
        "nn.layers.dropout",
        "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
        torch=_LAYER,
    ),
    NameGroup("nn.layers.embedding", "Embedding EmbeddingBag", torch=_LAYER),
    NameGroup(
        "nn.layers.lazy",
        "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
        "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d "
        "LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear",
        torch=_LAYER,
    ),
    NameGroup("nn.layers.linear", "Bilinear Linear", torch=_LAYER),
    NameGroup("nn.layers.linear", "MLP"),
    NameGroup(
        "nn.layers.normalization",
        "BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d "
        "InstanceNorm3d LayerNorm LocalResponseNorm RMSNorm",
        torch=_LAYER,
    ),
    NameGroup(
        "nn.layers.pooling",
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
        "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d "
        "FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d "
        "MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d",
        torch=_LAYER,
    ),
    NameGroup("nn.layers.sequences.attention", "MultiheadAttention", torch=_LAYER),
    NameGroup("nn.layers.sequences.cells", "GRUCell LSTMCell RNNCell", torch=_LAYER),
    NameGroup("nn.layers.sequences.recurrent", "GRU LSTM RNN", torch=_LAYER),
    NameGroup(
        "nn.layers.sequences.transformer",
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
        "TransformerEncoderLayer",
        torch=_LAYER,
    ),
    NameGroup(
        "nn.layers.shape",
        "ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d "
        "ConstantPad3d Flatten Fold PixelShuffle PixelUnshuffle ReflectionPad1d "
        "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d "
        "Unflatten Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d "
        "ZeroPad2d ZeroPad3d",
        torch=_LAYER,
    ),
    NameGroup("nn.layers.synchronised", "SyncBatchNorm", torch=_LAYER),
    NameGroup(
        "nn.losses.classification",
        "BCELoss BCEWithLogitsLoss CrossEntropyLoss CTCLoss KLDivLoss MultiLabelMarginLoss "
        "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss SoftMarginLoss",
        torch=_LAYER,
    ),
    NameGroup(
        "nn.losses.ranking",
        "CosineEmbeddingLoss CosineSimilarity HingeEmbeddingLoss MarginRankingLoss "
        "PairwiseDistance TripletMarginLoss TripletMarginWithDistanceLoss",
        torch=_LAYER,
    ),
    NameGroup(
        "nn.losses.regression",
        "GaussianNLLLoss HuberLoss L1Loss MSELoss PoissonNLLLoss SmoothL1Loss",
        torch=_LAYER,
    ),
)

#: Loaded with the module, not lazily: some functions have the name of the file that defines them.
FUNCTIONAL = (
    NameGroup(
        "_core",
        "celu cross_entropy elu gelu hardsigmoid hardswish hardtanh leaky_relu log_softmax "
        "logsigmoid mish one_hot relu relu6 selu sigmoid silu softmax softsign tanh",
        torch=_FUNCTION,
    ),
    NameGroup(
        "nn.functional.activation",
        "celu_ elu_ glu gumbel_softmax hardshrink hardtanh_ leaky_relu_ prelu relu_ rrelu "
        "rrelu_ selu_ softmin softplus softshrink tanhshrink threshold threshold_",
        torch=_FUNCTION,
    ),
    NameGroup("nn.functional.attention", "scaled_dot_product_attention", torch=_FUNCTION),
    NameGroup("nn.functional.convolution", "conv3d conv_transpose1d fold unfold", torch=_FUNCTION),
    NameGroup("nn.functional.ctc", "ctc_loss", torch=_FUNCTION),
    NameGroup(
        "nn.functional.distances",
        "cosine_embedding_loss margin_ranking_loss pairwise_distance pdist "
        "triplet_margin_loss triplet_margin_with_distance_loss",
        torch=_FUNCTION,
    ),
    NameGroup(
        "nn.functional.dropout",
        "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
        torch=_FUNCTION,
    ),
    NameGroup("nn.functional.embedding", "embedding embedding_bag", torch=_FUNCTION),
    NameGroup(
        "nn.functional.images.fractional",
        "fractional_max_pool2d fractional_max_pool3d",
        torch=_FUNCTION,
    ),
    NameGroup(
        "nn.functional.images.pooling",
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d "
        "adaptive_max_pool3d avg_pool1d lp_pool1d lp_pool2d",
        torch=_FUNCTION,
    ),
    NameGroup("nn.functional.images.sampling", "affine_grid", torch=_FUNCTION),
    NameGroup(
        "nn.functional.images.unpooling", "max_unpool1d max_unpool2d max_unpool3d", torch=_FUNCTION
    ),
    NameGroup(
        "nn.functional.images.resize",
        "channel_shuffle interpolate pixel_shuffle pixel_unshuffle upsample",
        torch=_FUNCTION,
    ),
    NameGroup(
        "nn.functional.images.volume_pooling",
        "adaptive_avg_pool3d avg_pool3d conv_transpose3d lp_pool3d max_pool3d",
        torch=_FUNCTION,
    ),
    NameGroup(
        "nn.functional.losses",
        "gaussian_nll_loss hinge_embedding_loss huber_loss l1_loss mse_loss multi_margin_loss "
        "multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss soft_margin_loss",
        torch=_FUNCTION,
    ),
    NameGroup(
        "nn.functional.normalization",
        "instance_norm local_response_norm normalize",
        torch=_FUNCTION,
    ),
    NameGroup("nn.functional.bilinear_form", "bilinear", torch=_FUNCTION),
)

#: How arguments or behaviour differ from those of PyTorch; shown in `docs/nn.md`.
NN_DIFFERENCES = {
    "Softmax": "`dim` is the last axis unless given",
    "Softmin": "as `Softmax`",
    "LogSoftmax": "as `Softmax`",
    "softmax": "the axis must be given",
    "log_softmax": "as `softmax`",
    "softmin": "as `softmax`",
    "Parameter": "copies; `dtype=` and `name=` besides",
    "Buffer": "copies",
    "Linear": "sizes may be left out for a tied `weight=`",
    "embedding_bag": "input first",
    "grid_sample": "modes bilinear and nearest; with nearest, the grid has no gradient",
    "Unflatten": "axes have no names",
    "PackedSequence": "a padded tensor with its lengths",
    "pack_padded_sequence": "any order of lengths",
    "pack_sequence": "any order of lengths",
    "orthogonal": "no reflections without a base",
    "weight_norm": "the parametrization",
    "spectral_norm": "the parametrization",
    "remove_spectral_norm": "removes the parametrization",
    "remove_weight_norm": "removes the parametrization",
    "linear": "the weight is [in, out]",
    "batch_norm": "running averages may be left out",
    "gumbel_softmax": "without `eps`, which is deprecated",
    "ParametrizationList": "made by `register_parametrization`",
}
