"""How `tools/scientific/scipy_table.py` calls each function of SciPy.

In an expression `f` is the function and `xp` the namespace; without `f` it is the list of
arguments.
"""
# ruff: noqa: E501

from typing import Any

import numpy as np

from scipy_rotation_calls import ROTATION_CALLS


def make_arrays() -> dict[str, Any]:
    """The arrays that expressions name, as NumPy's: those of floats are differentiated."""
    rng = np.random.default_rng(7)
    points = rng.uniform(0, 3, (7, 2))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    image = rng.uniform(0.5, 2, (6, 7))
    return {
        "v": rng.uniform(0.3, 2.0, 12),
        "u": rng.uniform(0.3, 2.0, 12),
        "n": rng.normal(size=40),
        "n2": rng.normal(0.3, 1.5, size=40),
        "n9": rng.normal(size=9),
        "p": rng.uniform(0.1, 0.9, 6),
        "x": rng.uniform(0.3, 0.9, 5),
        "y": rng.uniform(1.1, 2.5, 5),
        "z": rng.uniform(2.6, 4.5, 5),
        "grid": np.cumsum(rng.uniform(0.5, 1.5, 12)),
        "at": np.asarray([1.3, 2.9, 5.1]),
        "knots": np.asarray([0.0, 1.0, 2.5, 3.0]),
        "m": rng.normal(size=(4, 4)),
        "m2": rng.normal(size=(4, 4)),
        "im": image,
        "big": rng.uniform(0, 1, (24, 24)),
        "kernel": rng.uniform(0.1, 1, (3, 3)),
        "w3": rng.uniform(0.1, 1, 3),
        "b": np.asarray([0.2, 0.3, 0.1]),
        "a": np.asarray([1.25, -0.4, 0.2]),
        "zs": np.asarray([0.3, -0.2]),
        "ps": np.asarray([0.5, 0.1]),
        "sos": np.asarray([[0.2, 0.3, 0.1, 1.0, -0.4, 0.2], [0.5, 0.1, 0.2, 1.0, 0.3, 0.1]]),
        "wn": np.asarray([0.2, 0.5]),
        "w1": np.asarray(0.3),
        "one": np.asarray(1.0),
        "low": np.asarray([0.1, 0.2]),
        "high": np.asarray([1.0, 1.5]),
        "edges": np.asarray([0.0, 0.3, 0.5, 1.0]),
        "gains": np.asarray([1.0, 0.9, 0.2, 0.0]),
        "poles": np.asarray([-0.1, -0.2, -0.3, -0.4]),
        "pts": points,
        "guess": points[[0, 3]] + 0.01,
        "d": distances[np.triu_indices(7, 1)],
        "table": rng.uniform(3, 9, (3, 4)),
        "counts": rng.integers(3, 20, 6).astype(float),
        "i": np.asarray([1, 2, 3, 2, 4]),
        "labels": np.asarray([[0, 1, 1, 2, 2, 0, 3]] * 6),
        "ids": np.asarray([1, 2, 3]),
        "mask": image > 1.2,
        "hit": np.ones((3, 3), bool),
        "groups": np.asarray([1, 1, 2, 2, 3, 3, 1], np.int32),
        "markers": np.pad(np.asarray([[1, 0], [0, 2]], np.int8), ((0, 4), (0, 5))),
        "rv": np.asarray([[0.1, 0.2, 0.3], [0.4, -0.1, 0.2]]),
        "qs": np.asarray([[0.1, 0.2, 0.3, 0.9], [0.5, 0.1, -0.2, 0.7]]),
        "ws": np.asarray([[1.0, 2.0, 3.0], [0.5, 1.0, 1.0]]),
        "ec": np.asarray([[0.1, 0.2, 0.3, 1.0, 2.0, 3.0], [0.4, -0.1, 0.2, 0.0, 1.0, 1.0]]),
        "bytes": (image * 100).astype(np.uint8),
    }


_HIERARCHY = """
average: d
centroid: d
complete: d
median: d
single: d
ward: d
weighted: d
linkage: d
cophenet: Z
correspond: Z, d
dendrogram: Z, no_plot=True
fcluster: Z, 2, 'maxclust'
fclusterdata: pts, 1.0
from_mlab_linkage: ML
inconsistent: Z
is_isomorphic: groups, groups
is_monotonic: Z
is_valid_im: R
is_valid_linkage: Z
leaders: Z, T
leaves_list: Z
maxRstat: Z, R, 0
maxdists: Z
maxinconsts: Z, R
num_obs_linkage: Z
optimal_leaf_ordering: Z, d
to_mlab_linkage: Z
to_tree: f(Z).dist
"""

_SMALL = """
cluster.vq.whiten: pts
cluster.vq.vq: pts, guess
cluster.vq.kmeans: pts, guess
cluster.vq.kmeans2: pts, guess, minit='matrix'
constants.convert_temperature: v, 'C', 'K'
constants.lambda2nu: v
constants.nu2lambda: v
differentiate.derivative: f(lambda x: x ** 3 + x, v).df
differentiate.jacobian: f(lambda x: x * x, p).df
differentiate.hessian: f(lambda x: xp.sum(x ** 3, axis=0), p).ddf
integrate.cubature: f(lambda x: xp.sum(x ** 2, axis=-1), low, high).estimate
integrate.cumulative_simpson: v, dx=0.5
integrate.cumulative_trapezoid: v, grid
integrate.nsum: f(lambda k: 1 / k ** 3, one, one + 9).sum
integrate.qmc_quad: f(lambda x: xp.sum(x ** 2, axis=0), low, high, n_estimates=2, n_points=8, qrng=__import__('scipy').stats.qmc.Halton(2, rng=1)).integral
integrate.romb: n9, dx=0.5
integrate.tanhsinh: f(lambda x: x ** 2, low, high).integral
integrate.trapezoid: v, grid
interpolate.Akima1DInterpolator: f(grid, v)(at)
interpolate.BPoly: f(m, xp.arange(5, dtype=xp.float64))(at)
interpolate.BSpline: f(xp.arange(16, dtype=xp.float64), v, 3)(at + 4)
interpolate.CubicHermiteSpline: f(grid, v, u)(at)
interpolate.CubicSpline: f(grid, v)(at)
interpolate.NdBSpline: f((xp.arange(8, dtype=xp.float64), xp.arange(8, dtype=xp.float64)), m, 3)(low + 3)
interpolate.PPoly: f(m, xp.arange(5, dtype=xp.float64))(at)
interpolate.PchipInterpolator: f(grid, v)(at)
interpolate.RBFInterpolator: f(pts, n[:7])(guess)
interpolate.RegularGridInterpolator: f((xp.arange(4, dtype=xp.float64), xp.arange(4, dtype=xp.float64)), m)(low)
interpolate.generate_knots: list(f(grid, v, s=1))[0]
interpolate.make_interp_spline: f(grid, v)(at)
interpolate.make_lsq_spline: f(grid, v, xp.concat([xp.full(4, grid[0]), grid[4:6], xp.full(4, grid[-1])]))(at)
interpolate.make_smoothing_spline: f(grid, v, lam=1.0)(at)
interpolate.make_splprep: f([v, u], s=0)[0](w3)
interpolate.make_splrep: f(grid, v, s=0)(at)
linalg.block_diag: m, m2
linalg.fiedler: v
linalg.orthogonal_procrustes: m, m2
optimize.rosen: v
optimize.rosen_der: v
optimize.rosen_hess: v
optimize.rosen_hess_prod: v, u
optimize.elementwise.find_root: f(lambda x: x ** 2 - 2, (low, high + 1)).x
optimize.elementwise.find_minimum: f(lambda x: (x - 0.5) ** 2, (low - 1, low + 0.1, high)).x
optimize.elementwise.bracket_root: f(lambda x: x ** 2 - 2, low, high).bracket
optimize.elementwise.bracket_minimum: f(lambda x: (x - 0.5) ** 2, low).bracket
stats.contingency.margins: table
stats.contingency.expected_freq: table
stats.contingency.association: i[:4].reshape(2, 2) if xp is np else xp.reshape(i[:4], (2, 2))
"""

_FFT = """
fft ifft rfft irfft hfft ihfft dct idct dst idst: v
fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn hfft2 ihfft2 hfftn ihfftn dctn idctn dstn idstn: im
fftshift ifftshift: v
fftfreq rfftfreq: 8, xp=xp
fht ifht: v, 0.1, 0.5
"""

_NDIMAGE = """
affine_transform: im, kernel[:2, :2]
binary_closing binary_dilation binary_erosion binary_fill_holes binary_opening binary_propagation: mask
binary_hit_or_miss: mask, hit
black_tophat grey_closing grey_dilation grey_erosion grey_opening white_tophat: im, size=3
morphological_gradient morphological_laplace: im, size=3
center_of_mass: im
convolve correlate: im, kernel
convolve1d correlate1d: im, w3
distance_transform_bf distance_transform_cdt distance_transform_edt: mask
extrema: im
find_objects: labels
fourier_ellipsoid fourier_gaussian fourier_uniform: im, 2.0
fourier_shift: im, 1.5
gaussian_filter gaussian_filter1d gaussian_gradient_magnitude gaussian_laplace: im, 1.0
generic_filter: im, lambda a: a.sum(), size=3
generic_filter1d: im, lambda i, o: o.fill(i.sum()), 3
generic_gradient_magnitude: im, __import__('scipy').ndimage.sobel
generic_laplace: im, lambda a, axis, out, mode, cval: __import__('scipy').ndimage.correlate1d(a, [1, -2, 1], axis, out, mode, cval, 0)
geometric_transform: im, lambda c: (c[0] - 0.5, c[1])
histogram: im, 0, 3, 5
iterate_structure: hit, 2
label: mask
labeled_comprehension: im, labels, ids, np.mean, float, 0.0
laplace prewitt sobel: im
map_coordinates: im, xp.stack([w3, w3 + 1])
maximum mean median minimum standard_deviation sum sum_labels variance: im, labels, ids
maximum_position minimum_position: im, labels, ids
maximum_filter minimum_filter median_filter uniform_filter: im, size=3
maximum_filter1d minimum_filter1d uniform_filter1d: im, 3
percentile_filter: im, 40, size=3
rank_filter: im, 2, size=3
rotate: im, 20.0
shift: im, 0.5
spline_filter spline_filter1d: im
value_indices: labels
vectorized_filter: im, xp.mean, size=3
watershed_ift: bytes, markers
zoom: im, 1.6
"""

_SIGNAL = """
abcd_normalize: m, m2, m, m2
bessel butter: 2, wn, btype='bandpass'
cheby1: 2, 1.0, wn, btype='bandpass'
cheby2: 2, 20.0, wn, btype='bandpass'
ellip: 2, 1.0, 20.0, wn, btype='bandpass'
iirfilter: 2, wn
iirdesign: w1, w1 + 0.2, 1.0, 20.0
besselap buttap: 3, xp=xp
cheb1ap: 3, 1.0, xp=xp
cheb2ap: 3, 20.0, xp=xp
ellipap: 3, 1.0, 20.0, xp=xp
buttord cheb1ord cheb2ord ellipord: w1, w1 + 0.2, 1.0, 20.0
bilinear: b, a
bilinear_zpk: zs, ps, 1.0, 2.0
bode impulse: (b, a)
choose_conv_method: v, w3
convolve correlate fftconvolve oaconvolve: v, w3
convolve2d correlate2d: im, kernel
cspline1d detrend hilbert qspline1d: v
cspline1d_eval qspline1d_eval: v, at
cspline2d: big
deconvolve: v, w3
filtfilt: b, a, n
lfilter: b, a, v
firls: 5, edges, gains
firwin: 5, w1
firwin2: 5, edges, gains
freqs: b, a, at
freqs_zpk freqz_zpk: zs, ps, 1.0, at
freqz: b, a, at
freqz_sos sosfreqz: sos, at
gammatone: 400, 'fir', fs=4000, numtaps=9, xp=xp
gauss_spline: v, 3
get_window: 'hann', 8, xp=xp
envelope: n
group_delay: (b, a), at
hilbert2: im
iircomb: 0.25, 30.0, xp=xp
iirnotch iirpeak: 0.25, 30.0, xp=xp
lfilter_zi: b, a
lfiltic: b, a, zs
lp2bp lp2bs: b, a
lp2hp lp2lp: b, a
lp2bp_zpk lp2bs_zpk: zs, ps, 1.0, 1.3, 0.7
lp2hp_zpk lp2lp_zpk: zs, ps, 1.0
medfilt wiener: v, 3
medfilt2d: im, 3
minimum_phase: n9
normalize: b, a
order_filter: im, hit, 2
place_poles: f(m, m2[:, :2], poles).gain_matrix
remez: 5, edges / 2, gains[1:3]
resample: v, 8
resample_poly: v, 2, 3
savgol_coeffs: 5, 2, xp=xp
savgol_filter: v, 5, 2
sos2tf: sos
sos2zpk: sos
sosfilt: sos, v
sosfilt_zi: sos
sosfiltfilt: sos, n
spline_filter: big
tf2sos tf2zpk: b, a
upfirdn: w3, v, 2, 1
vectorstrength: v, 1.3
zpk2sos zpk2tf: zs, ps, 1.0
"""

_WINDOWS = """
boxcar triang parzen bohman blackman nuttall blackmanharris flattop bartlett barthann: 9, xp=xp
hamming cosine hann exponential tukey taylor lanczos: 9, xp=xp
kaiser: 9, 3.0, xp=xp
kaiser_bessel_derived: 8, 3.0, xp=xp
gaussian: 9, 2.0, xp=xp
general_gaussian: 9, 1.5, 2.0, xp=xp
general_cosine: 9, xp.asarray([0.5, 0.3, 0.2])
general_hamming: 9, 0.6, xp=xp
chebwin: 9, 50.0, xp=xp
get_window: 'hann', 8, xp=xp
"""

_SPECIAL = """
bdtr bdtrc: 2, 5, x
bdtri: 2, 5, x
betainc betaincc betaincinv: y, z, x
boxcox inv_boxcox1p: x, y
boxcox1p: x, y
inv_boxcox: x, y
chdtr chdtrc: y, z
chdtri: y, x
digamma entr erfinv ndtri expit exprel gamma gammaln loggamma logit psi rgamma: x
expn: i, x
fdtr fdtrc: y, z, x
fdtri: y, z, x
gdtr gdtrc: y, z, x
huber pseudo_huber: x, y
hyp1f1: x, y, z
kl_div rel_entr: x, y
lpmv: 1, 2, x
nbdtr nbdtrc: 2, 5, x
nbdtri: 2, 5, x
pdtr pdtrc: y, z
pdtri: 2, x
poch: y, x
spence: x
stdtr stdtrit: y, x
yn: i, y
binom: z, x
sindg cosdg tandg cotdg zetac: y
i0 i0e i1 i1e k0 k0e k1 k1e y0 y1 j0 j1: y
betaln: y, z
gammasgn cbrt cosm1 erf erfc erfcx ndtr log_ndtr exp2 exp10: x
radian: x, y, z
gammainc gammaincc: y, z
gammaincinv gammainccinv: y, x
ellipk ellipkm1 exp1 expi sinc: x
xlogy xlog1py: x, y
polygamma: 1, y
zeta: y, x
logsumexp softmax log_softmax: v
multigammaln: z, 2
"""

_STATS = """
alexandergovern: n9, n9 + 1.2, n9 * 1.1
ansari mannwhitneyu mood brunnermunzel: n, n2
bartlett fligner levene kruskal: n, n2
bootstrap: f((n9,), xp.mean, n_resamples=20, rng=1, method='percentile').confidence_interval.low
boxcox_llf: x[0], v
chatterjeexi: n, n2
chisquare: counts
power_divergence: counts, lambda_='cressie-read'
circmean circstd circvar: v
combine_pvalues: p
cramervonmises: n, __import__('scipy').special.ndtr
cramervonmises_2samp: n, n2
describe: n
differential_entropy: n
directional_stats: pts
entropy: v, u
epps_singleton_2samp: n, n2
f_oneway: n, n2
false_discovery_control: p
friedmanchisquare: n9, n9 + 1, n9 * 2
gmean hmean gstd gzscore: v
pmean: v, 1.5
iqr: v
ks_1samp: n, __import__('scipy').special.ndtr
kstat kstatvar lmoment: n
kurtosis kurtosistest normaltest skewtest jarque_bera skew: n
median_abs_deviation: v
mode: i
moment: n, 3
monte_carlo_test: f(n9, lambda size: np.zeros(size) if xp is np else xp.zeros(size), xp.mean, n_resamples=9).statistic
pearsonr spearmanrho: n, n2
permutation_test: f((n9, v[:9]), lambda a, b, axis=-1: xp.mean(a, axis=axis) - xp.mean(b, axis=axis), n_resamples=9, rng=1).statistic
power: f(lambda a, axis=-1: xp.mean(a, axis=axis), lambda size: np.ones(size) if xp is np else xp.ones(size), 5, n_resamples=9).power
quantile: n, p
rankdata: v
sem: n
sigmaclip: n
tmax tmean tmin tsem tstd tvar: n
trim_mean: n, 0.12
ttest_1samp: n, 0.1
ttest_ind ttest_rel: n, n2
ttest_ind_from_stats: x, y, 9, x + 0.1, z, 8
variation: v
wilcoxon: n, n2
yeojohnson_llf: x[0], n
zmap: v, u
zscore: v
"""


def _parse_calls(home: str, text: str) -> dict[str, str]:
    rows = {}
    for line in text.strip().splitlines():
        names, _, expression = line.partition(": ")
        prefix = f"{home}." if home else ""
        rows |= {prefix + name: expression for name in names.split()}
    return rows


#: The expression for each function, by its name below `scipy`.
CALLS: dict[str, str] = {
    **_parse_calls("", _SMALL),
    **_parse_calls("cluster.hierarchy", _HIERARCHY),
    **_parse_calls("fft", _FFT),
    **_parse_calls("ndimage", _NDIMAGE),
    **_parse_calls("signal", _SIGNAL),
    **_parse_calls("signal.windows", _WINDOWS),
    **_parse_calls("special", _SPECIAL),
    **_parse_calls("stats", _STATS),
    **ROTATION_CALLS,
}
