//! Sizes and steps of a convolution.
//!
//! Owns: `Geometry` and what follows from it: which taps lie inside, where, and how large a tile is.
//! Never touches an element. Invariant: sizes agree with each other; whoever makes one has checked that.

/// Elements of one tile of columns, about: it stays in the second-level cache.
const TILE: usize = 1 << 16;

/// What a convolution is: sizes of the images, the kernels and the result, and how the kernel moves.
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
    /// Steps of the kernel.
    pub stride: [usize; 2],
    /// Zeros around the image.
    pub padding: [usize; 2],
    /// Steps between the elements of a kernel.
    pub dilation: [usize; 2],
    /// Groups of channels that do not mix.
    pub groups: usize,
}

impl Geometry {
    /// Channels of an image and of a result, in one group.
    pub(in crate::kernels) fn own(&self) -> [usize; 2] {
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

    /// Rows of a result per tile, for columns of `depth` elements.
    pub(in crate::kernels) fn tile_rows(&self, depth: usize) -> usize {
        (TILE / (depth * self.result[1]).max(1)).clamp(1, self.result[0].max(1))
    }

    /// Whether the columns are the image itself.
    pub(in crate::kernels) fn direct(&self) -> bool {
        // The image of an adjoint is larger by its output padding.
        self.taps() == 1
            && self.stride == [1, 1]
            && self.padding == [0, 0]
            && self.image == self.result
    }

    /// The positions `low..high` of an axis whose window's tap `k` lies inside the image.
    pub(in crate::kernels) fn inside(&self, axis: usize, k: usize) -> (usize, usize) {
        let (step, shift) = (self.stride[axis], k * self.dilation[axis]);
        let low = self.padding[axis].saturating_sub(shift).div_ceil(step);
        let high = (self.image[axis] + self.padding[axis]).saturating_sub(shift).div_ceil(step);
        let high = high.min(self.result[axis]);
        (low.min(high), high)
    }

    /// The image's position under tap `k` at position `at` of an axis; `at` is inside.
    pub(in crate::kernels) fn image_position(&self, axis: usize, k: usize, at: usize) -> usize {
        at * self.stride[axis] + k * self.dilation[axis] - self.padding[axis]
    }
}
