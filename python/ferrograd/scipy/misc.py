"""`scipy.misc.logsumexp`, under the name that older programs use."""

from ferrograd.scipy.special import logsumexp as logsumexp
