# Written by tools/stubs.py from ferrograd/_names; `__init__.py` loads the same names.

from ferrograd.nn._operations import *
from ferrograd._core import (
    celu as celu,
    cross_entropy as cross_entropy,
    elu as elu,
    gelu as gelu,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    leaky_relu as leaky_relu,
    log_softmax as log_softmax,
    logsigmoid as logsigmoid,
    mish as mish,
    one_hot as one_hot,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    softmax as softmax,
    softsign as softsign,
    tanh as tanh,
)
from ferrograd.nn.functional.activation import (
    celu_ as celu_,
    elu_ as elu_,
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    hardshrink as hardshrink,
    hardtanh_ as hardtanh_,
    leaky_relu_ as leaky_relu_,
    prelu as prelu,
    relu_ as relu_,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu_ as selu_,
    softmin as softmin,
    softplus as softplus,
    softshrink as softshrink,
    tanhshrink as tanhshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from ferrograd.nn.functional.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from ferrograd.nn.functional.bilinear_form import bilinear as bilinear
from ferrograd.nn.functional.convolution import (
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    fold as fold,
    unfold as unfold,
)
from ferrograd.nn.functional.ctc import ctc_loss as ctc_loss
from ferrograd.nn.functional.distances import (
    cosine_embedding_loss as cosine_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from ferrograd.nn.functional.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from ferrograd.nn.functional.embedding import (
    embedding as embedding,
    embedding_bag as embedding_bag,
)
from ferrograd.nn.functional.images.fractional import (
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool3d as fractional_max_pool3d,
)
from ferrograd.nn.functional.images.pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
    avg_pool1d as avg_pool1d,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
)
from ferrograd.nn.functional.images.resize import (
    channel_shuffle as channel_shuffle,
    interpolate as interpolate,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    upsample as upsample,
)
from ferrograd.nn.functional.images.sampling import affine_grid as affine_grid
from ferrograd.nn.functional.images.unpooling import (
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from ferrograd.nn.functional.images.volume_pooling import (
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    avg_pool3d as avg_pool3d,
    conv_transpose3d as conv_transpose3d,
    lp_pool3d as lp_pool3d,
    max_pool3d as max_pool3d,
)
from ferrograd.nn.functional.losses import (
    gaussian_nll_loss as gaussian_nll_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    huber_loss as huber_loss,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    poisson_nll_loss as poisson_nll_loss,
    soft_margin_loss as soft_margin_loss,
)
from ferrograd.nn.functional.normalization import (
    instance_norm as instance_norm,
    local_response_norm as local_response_norm,
    normalize as normalize,
)
