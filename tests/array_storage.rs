//! Storage: counting, versions, exports, alignment, the pool, and the exactness of live_bytes.
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ferrograd::array::{Access, Owner, Storage, cached_bytes, from_array, live_bytes, trim};

/// The counters are global: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|broken| broken.into_inner())
}

#[test]
fn bytes_are_counted_exactly() {
    let _alone = alone();
    let before = live_bytes();
    let sizes = [0, 1, 8, 1000, 1023, 1024, 1025, 70_000, 1 << 20, (1 << 20) + 1, 9 << 20];
    let storages: Vec<Storage> = sizes.iter().map(|&n| Storage::alloc(n).unwrap()).collect();
    assert_eq!(live_bytes() - before, sizes.iter().sum::<usize>());
    let shared = storages.clone();
    drop(storages);
    assert_eq!(live_bytes() - before, sizes.iter().sum::<usize>());
    drop(shared);
    assert_eq!(live_bytes(), before);
}

#[test]
fn bytes_freed_on_another_thread_are_counted_too() {
    let _alone = alone();
    let before = live_bytes();
    let threads: Vec<_> = (0..8)
        .map(|i| std::thread::spawn(move || (0..100).map(|_| Storage::alloc(8 * i)).collect()))
        .collect();
    let storages: Vec<Vec<_>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    assert_eq!(live_bytes() - before, 100 * 8 * 28);
    std::thread::scope(|s| {
        for part in storages {
            s.spawn(move || drop::<Vec<ferrograd::error::Result<Storage>>>(part));
        }
    });
    assert_eq!(live_bytes(), before);
}

#[test]
fn data_is_aligned_and_keeps_what_is_written() {
    let _alone = alone();
    for n in [1, 8, 1000, 1023, 1024, 5000, 1 << 20, 5 << 20, 33 << 20] {
        let storage = Storage::alloc(n).unwrap();
        let align = if n >= 1024 { 64 } else { 16 };
        assert_eq!(storage.ptr() as usize % align, 0, "{n} bytes");
        assert_eq!(storage.nbytes(), n);
        // SAFETY: the storage is ours and `n` long.
        unsafe {
            *storage.ptr() = 1;
            *storage.ptr().add(n - 1) = 2;
            assert_eq!(*storage.ptr().add(n - 1), 2);
        }
    }
    let zeros = Storage::zeroed(100_000).unwrap();
    // SAFETY: the storage is initialised.
    let bytes = unsafe { std::slice::from_raw_parts(zeros.ptr(), 100_000) };
    assert!(bytes.iter().all(|&b| b == 0));
}

#[test]
fn an_impossible_size_is_an_error() {
    let _alone = alone();
    for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
        let failed = Storage::alloc(bytes).err().map(|e| e.variant());
        assert_eq!(failed, Some("Memory"), "{bytes} bytes");
    }
}

#[test]
fn large_blocks_are_reused() {
    let _alone = alone();
    trim();
    let first = Storage::alloc(3 << 20).unwrap();
    let address = first.ptr();
    drop(first);
    assert!(cached_bytes() >= 3 << 20);
    let second = Storage::alloc((3 << 20) + 1000).unwrap();
    assert_eq!(second.ptr(), address);
    assert_eq!(cached_bytes(), 0);
    drop(second);
    trim();
    assert_eq!(cached_bytes(), 0);
}

#[test]
fn handles_share_counts_versions_and_exports() {
    let _alone = alone();
    let a = Storage::alloc(8).unwrap();
    assert!(a.is_unique() && a.is_writable() && !a.has_external_writer());
    let b = a.clone();
    assert!(!a.is_unique() && a.same(&b) && !a.same(&Storage::alloc(8).unwrap()));
    assert_eq!((a.version(), a.changed_by()), (0, ""));
    b.bump_version("add_");
    b.bump_version("zero_");
    assert_eq!((a.version(), a.changed_by()), (2, "zero_"));
    drop(b);
    assert!(a.is_unique());
    a.export_writable();
    a.export_writable();
    a.release_export();
    assert!(a.has_external_writer());
    a.release_export();
    a.release_export();
    assert!(!a.has_external_writer());
}

struct Bytes(Arc<AtomicUsize>, Vec<u8>);

impl Owner for Bytes {}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn adopted_memory_lives_as_long_as_a_handle() {
    let _alone = alone();
    let before = live_bytes();
    let drops = Arc::new(AtomicUsize::new(0));
    for access in [Access::Exclusive, Access::Foreign, Access::Shared] {
        let mut owner = Box::new(Bytes(drops.clone(), vec![7; 100]));
        let ptr = owner.1.as_mut_ptr();
        // SAFETY: the vector is valid until its owner is dropped.
        let storage = unsafe { Storage::adopt(ptr, 100, access, owner) };
        assert_eq!(storage.is_writable(), access != Access::Foreign);
        assert_eq!(storage.has_external_writer(), access != Access::Exclusive);
        let other = storage.clone();
        drop(storage);
        // SAFETY: `other` keeps the memory alive.
        assert_eq!(unsafe { *other.ptr().add(99) }, 7);
        assert_eq!(live_bytes(), before);
    }
    assert_eq!(drops.load(Ordering::SeqCst), 3);
}

#[test]
fn handles_cross_threads() {
    let _alone = alone();
    let before = live_bytes();
    let storage = Storage::alloc(64).unwrap();
    std::thread::scope(|s| {
        for _ in 0..4 {
            let mine = storage.clone();
            s.spawn(move || (0..10_000).for_each(|_| drop(mine.clone())));
        }
    });
    assert!(storage.is_unique());
    drop(storage);
    assert_eq!(live_bytes(), before);
}

#[test]
fn arrays_are_taken_over() {
    let _alone = alone();
    let before = live_bytes();
    let small = ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]).reversed_axes();
    let (storage, layout) = from_array(small).unwrap();
    assert_eq!((layout.dims(), storage.nbytes()), (&[2, 2][..], 32));
    // SAFETY: four f64 were stored.
    let values = unsafe { std::slice::from_raw_parts(storage.ptr().cast::<f64>(), 4) };
    assert_eq!(values, [1.0, 3.0, 2.0, 4.0]);
    let large = ndarray::Array2::<f32>::from_shape_fn((50, 60), |(i, j)| (i * 100 + j) as f32);
    let address = large.as_ptr();
    let mut large = large.reversed_axes();
    large.invert_axis(ndarray::Axis(0));
    let (taken, layout) = from_array(large).unwrap();
    assert_eq!(taken.ptr() as usize, address as usize);
    assert_eq!((layout.dims(), layout.strides()), (&[60, 50][..], &[-1, 60][..]));
    assert_eq!(layout.offset(), 59);
    assert!(!taken.has_external_writer() && taken.is_writable());
    assert_eq!(live_bytes() - before, 32 + 50 * 60 * 4);
    drop((storage, taken));
    assert_eq!(live_bytes(), before);
}

#[test]
fn the_note_goes_with_the_last_handle_that_is_no_guest() {
    let _alone = alone();
    // One thread drops its handle while another writes the first attachment and drops its own: whoever is last takes the
    // attachment along, although a data handle lives on.
    for round in 0..20_000 {
        let first = Storage::zeroed(64).unwrap();
        let (second, handle) = (first.clone(), first.data_handle());
        let attachment = Arc::new(round);
        let seen = Arc::downgrade(&attachment);
        std::thread::scope(|scope| {
            if round % 2 == 0 {
                scope.spawn(move || drop(first));
                scope.spawn(move || drop(second.attachment_or(|| attachment)));
            } else {
                let one = scope.spawn(move || drop(second.attachment_or(|| attachment)));
                drop(first);
                one.join().unwrap();
            }
        });
        assert!(seen.upgrade().is_none());
        drop(handle);
    }
}

#[test]
fn data_is_lent_only_where_nobody_keeps_it() {
    let _alone = alone();
    let storage = Storage::zeroed(64).unwrap();
    let (full, export) = (storage.clone(), storage.data_handle());
    assert!(export.export_unless_saved(1));
    let again = storage.data_handle();
    assert!(again.export_unless_saved(1), "each export has a handle");
    let kept = storage.data_handle();
    let third = storage.data_handle();
    assert!(!third.export_unless_saved(1));
    assert!(kept.has_external_writer());
    drop((kept, third));
    for export in [export, again] {
        export.release_export();
        drop(export);
    }
    assert!(!full.has_external_writer());
    let detached = full.data_handle();
    assert!(detached.data_handle().export_unless_saved(2), "the handle of whoever asks is known");
    // Whoever keeps and whoever lends see each other, or one the other.
    for _ in 0..20_000 {
        let storage = Storage::zeroed(64).unwrap();
        let (keeper, lender) = (storage.clone(), storage.clone());
        let (shared, lent) = std::thread::scope(|scope| {
            let keeper = scope.spawn(move || {
                let kept = keeper.data_handle();
                (!kept.has_external_writer()).then_some(kept)
            });
            let lender = scope.spawn(move || {
                let export = lender.data_handle();
                export.export_unless_saved(1).then_some(export)
            });
            (keeper.join().unwrap(), lender.join().unwrap())
        });
        assert!(shared.is_none() || lent.is_none());
    }
}
