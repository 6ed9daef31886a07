//! `Geometry`: sizes, stride, padding and dilation of a convolution.
//!
//! Invariant: the sizes are consistent; the caller who makes one has checked that.

/// Approximate elements of an im2col tile: it stays in the second cache.
const TILE_ELEMENTS: usize = 1 << 16;

/// The parameters of a convolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Images.
    pub batch: usize,
    /// Channels of an image and of a result, in all groups together.
    pub channels: [usize; 2],
    /// Rows and columns of an image.
    pub image: [usize; 2],
    /// Rows and columns of a kernel.
    pub kernel: [usize; 2],
    /// Rows and columns of the result.
    pub result: [usize; 2],
    /// Stride of the kernel.
    pub stride: [usize; 2],
    /// Zero padding on each side of the image.
    pub padding: [usize; 2],
    /// Distance of the elements of a kernel.
    pub dilation: [usize; 2],
    /// Groups of channels.
    pub groups: usize,
}

impl Geometry {
    /// Input and output channels of one group.
    pub(in crate::kernels) fn group_channels(&self) -> [usize; 2] {
        self.channels.map(|c| c / self.groups)
    }

    pub(in crate::kernels) fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Elements of a channel of an image.
    pub(in crate::kernels) fn plane(&self) -> usize {
        self.image[0] * self.image[1]
    }

    /// Elements of a channel of a result.
    pub(in crate::kernels) fn output_plane(&self) -> usize {
        self.result[0] * self.result[1]
    }

    /// Output rows per im2col tile, for a matrix of `depth` rows.
    pub(in crate::kernels) fn tile_rows(&self, depth: usize) -> usize {
        (TILE_ELEMENTS / (depth * self.result[1]).max(1)).clamp(1, self.result[0].max(1))
    }

    /// Whether the im2col matrix is the image itself.
    pub(in crate::kernels) fn is_pointwise(&self) -> bool {
        // The image of a transposed convolution is larger by its output padding.
        self.taps() == 1
            && self.stride == [1, 1]
            && self.padding == [0, 0]
            && self.image == self.result
    }

    /// The output positions `low..high` of an axis for which tap `k` lies inside the image.
    pub(in crate::kernels) fn inside(&self, axis: usize, k: usize) -> (usize, usize) {
        let (step, shift) = (self.stride[axis], k * self.dilation[axis]);
        let low = self.padding[axis].saturating_sub(shift).div_ceil(step);
        let high = (self.image[axis] + self.padding[axis]).saturating_sub(shift).div_ceil(step);
        let high = high.min(self.result[axis]);
        (low.min(high), high)
    }

    /// The image position of tap `k` at output position `at` of an axis, which must be valid.
    pub(in crate::kernels) fn image_position(&self, axis: usize, k: usize, at: usize) -> usize {
        at * self.stride[axis] + k * self.dilation[axis] - self.padding[axis]
    }
}
