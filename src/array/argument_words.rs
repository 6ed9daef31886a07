//! Where elements lie that somebody keeps alive: the arguments of a program.
//!
//! Owns: `Elements`, `Word`, and the bytes of a storage as a whole: their copy and its way back. Never reads an element.
//! Invariant: an address is valid for as long as its lifetime says.

use std::marker::PhantomData;

use super::Storage;
use crate::dtype::DType;
use crate::error::Result;

/// Room for one element of any dtype.
pub type Word = [u64; 2];

const _: () = {
    let mut i = 0;
    while i < DType::ALL.len() {
        assert!(DType::ALL[i].size() <= size_of::<Word>(), "a word holds an element of any dtype");
        i += 1;
    }
};

/// The address of elements in C order.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    ptr: *const u8,
    life: PhantomData<&'a Storage>,
}

// SAFETY: the elements are only read while they are borrowed.
unsafe impl Send for Elements<'_> {}
// SAFETY: as above.
unsafe impl Sync for Elements<'_> {}

impl<'a> Elements<'a> {
    /// The elements that begin at this address.
    ///
    /// # Safety
    /// They stay where they are, and nobody writes to them, for `'a`.
    pub unsafe fn new(ptr: *const u8) -> Elements<'a> {
        Elements { ptr, life: PhantomData }
    }

    /// The elements of a storage from this byte on.
    ///
    /// # Panics
    /// When the storage ends before.
    pub fn of(storage: &'a Storage, offset: usize) -> Elements<'a> {
        assert!(offset <= storage.nbytes(), "elements outside their storage");
        Elements { ptr: storage.ptr().wrapping_add(offset), life: PhantomData }
    }

    /// The place of elements that nobody reads.
    pub fn unread() -> Elements<'a> {
        Elements { ptr: std::ptr::null(), life: PhantomData }
    }

    /// The address.
    pub fn ptr(&self) -> *const u8 {
        self.ptr
    }
}

/// The address of elements that a program writes.
pub struct ElementsMut<'a> {
    ptr: *mut u8,
    life: PhantomData<&'a mut Storage>,
}

// SAFETY: nobody else touches the elements while they are borrowed.
unsafe impl Send for ElementsMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for ElementsMut<'_> {}

impl<'a> ElementsMut<'a> {
    /// The elements that begin at this address.
    ///
    /// # Safety
    /// They stay where they are, and nobody else touches them, for `'a`.
    pub unsafe fn new(ptr: *mut u8) -> ElementsMut<'a> {
        ElementsMut { ptr, life: PhantomData }
    }

    /// The elements of a storage, which the caller may write to.
    pub(crate) fn of(storage: &'a Storage) -> ElementsMut<'a> {
        ElementsMut { ptr: storage.ptr(), life: PhantomData }
    }

    /// A word, for one element.
    pub fn word(word: &'a mut Word) -> ElementsMut<'a> {
        ElementsMut { ptr: std::ptr::from_mut(word).cast(), life: PhantomData }
    }

    /// The address.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }
}

impl Storage {
    /// A buffer of its own with the same bytes.
    pub fn copy(&self) -> Result<Storage> {
        let data = Storage::alloc(self.nbytes())?;
        // SAFETY: both are `nbytes` long, and the new one is exclusively ours.
        unsafe { data.ptr().copy_from_nonoverlapping(self.ptr(), self.nbytes()) };
        Ok(data)
    }

    /// Some of the bytes. Nobody writes to them while they are borrowed.
    ///
    /// # Panics
    /// When the storage ends before.
    pub fn bytes(&self, from: usize, count: usize) -> &[u8] {
        assert!(from.checked_add(count).is_some_and(|to| to <= self.nbytes()), "bytes outside");
        // SAFETY: they lie inside the storage, which is initialised where somebody reads it.
        unsafe { std::slice::from_raw_parts(self.ptr().add(from), count) }
    }

    /// Writes some of the bytes. The caller may write to the data.
    ///
    /// # Panics
    /// When the storage ends before.
    pub fn write_bytes(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.nbytes(), "bytes outside");
        // SAFETY: they lie inside the storage; what is borrowed from it is not written meanwhile.
        unsafe { self.ptr().add(at).copy_from(bytes.as_ptr(), bytes.len()) };
    }

    /// Gives back the bytes that `copy` took. The caller may write to the data.
    pub(crate) fn overwrite(&self, held: &Storage) {
        let nbytes = self.nbytes().min(held.nbytes());
        // SAFETY: both are that long, and a copy shares no memory with what it was taken of.
        unsafe { self.ptr().copy_from_nonoverlapping(held.ptr(), nbytes) };
    }
}
