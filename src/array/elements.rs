//! Borrowed pointers to contiguous elements: the arguments and results of a compiled program.
//!
//! Also the copy of a storage's bytes and its restoration.
//! Invariant: a pointer is valid for its lifetime.

use std::marker::PhantomData;

use super::Storage;
use crate::dtype::DType;
use crate::error::Result;

/// Space for one element of any dtype (16 bytes).
pub type ElementWord = [u64; 2];

const _: () = {
    let mut i = 0;
    while i < DType::ALL.len() {
        assert!(
            DType::ALL[i].size() <= size_of::<ElementWord>(),
            "a word holds an element of any dtype"
        );
        i += 1;
    }
};

/// A read-only pointer to elements in C order.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    ptr: *const u8,
    lifetime: PhantomData<&'a Storage>,
}

// SAFETY: the elements are only read during the borrow.
unsafe impl Send for Elements<'_> {}
// SAFETY: as above.
unsafe impl Sync for Elements<'_> {}

impl<'a> Elements<'a> {
    /// A pointer to the elements at this address.
    ///
    /// # Safety
    /// The elements are not moved, freed or written during `'a`.
    pub unsafe fn new(ptr: *const u8) -> Elements<'a> {
        Elements { ptr, lifetime: PhantomData }
    }

    /// The elements of a storage from byte `offset` on.
    ///
    /// # Panics
    /// When `offset` is behind the end of the storage.
    pub fn of(storage: &'a Storage, offset: usize) -> Elements<'a> {
        assert!(offset <= storage.nbytes(), "elements outside their storage");
        Elements { ptr: storage.ptr().wrapping_add(offset), lifetime: PhantomData }
    }

    /// A null pointer, for an argument that the program does not read.
    pub fn null() -> Elements<'a> {
        Elements { ptr: std::ptr::null(), lifetime: PhantomData }
    }

    /// The raw pointer.
    pub fn ptr(&self) -> *const u8 {
        self.ptr
    }
}

/// A pointer to elements that a program writes, in C order.
pub struct ElementsMut<'a> {
    ptr: *mut u8,
    lifetime: PhantomData<&'a mut Storage>,
}

// SAFETY: the borrow is exclusive: no other code reads or writes the elements meanwhile.
unsafe impl Send for ElementsMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for ElementsMut<'_> {}

impl<'a> ElementsMut<'a> {
    /// A pointer to the elements at this address.
    ///
    /// # Safety
    /// The elements are not moved, freed, read or written by other code during `'a`.
    pub unsafe fn new(ptr: *mut u8) -> ElementsMut<'a> {
        ElementsMut { ptr, lifetime: PhantomData }
    }

    /// The elements of a storage; the caller has the right to write to them.
    pub(crate) fn of(storage: &'a Storage) -> ElementsMut<'a> {
        ElementsMut { ptr: storage.ptr(), lifetime: PhantomData }
    }

    /// A word that holds one element.
    pub fn word(word: &'a mut ElementWord) -> ElementsMut<'a> {
        ElementsMut { ptr: std::ptr::from_mut(word).cast(), lifetime: PhantomData }
    }

    /// The raw pointer.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }
}

impl Storage {
    /// A new buffer with a copy of the bytes.
    pub fn copy(&self) -> Result<Storage> {
        let data = Storage::alloc(self.nbytes())?;
        // SAFETY: both are `nbytes` long, and no other code has the new buffer yet.
        unsafe { data.ptr().copy_from_nonoverlapping(self.ptr(), self.nbytes()) };
        Ok(data)
    }

    /// `count` bytes from `from` on. The caller makes sure that they are not written during the borrow.
    ///
    /// # Panics
    /// When the range is outside the storage.
    pub fn bytes(&self, from: usize, count: usize) -> &[u8] {
        assert!(from.checked_add(count).is_some_and(|to| to <= self.nbytes()), "bytes outside");
        // SAFETY: the range is inside the storage; the caller reads initialised bytes only.
        unsafe { std::slice::from_raw_parts(self.ptr().add(from), count) }
    }

    /// Writes bytes at offset `at`; the caller has the right to write.
    ///
    /// # Panics
    /// When the range is outside the storage.
    pub fn write_bytes(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.nbytes(), "bytes outside");
        // SAFETY: the range is inside the storage; the caller's right to write excludes other borrows.
        unsafe { self.ptr().add(at).copy_from(bytes.as_ptr(), bytes.len()) };
    }

    /// Restores the bytes that `copy` saved; the caller has the right to write.
    pub(crate) fn overwrite(&self, copy: &Storage) {
        let nbytes = self.nbytes().min(copy.nbytes());
        // SAFETY: both are at least `nbytes` long, and a copy is another allocation.
        unsafe { self.ptr().copy_from_nonoverlapping(copy.ptr(), nbytes) };
    }
}
