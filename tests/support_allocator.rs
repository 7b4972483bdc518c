//! The counting allocator itself: a tool that counted nothing would let every
//! "no allocation" test pass.

#[path = "support/counting_allocator.rs"]
mod counting_allocator;

use counting_allocator::{CountingAllocator, counted, counts};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn a_box_and_a_growing_vector_are_seen() {
    let (kept, counts) = counted(|| Box::new([7u8; 100]));
    assert_eq!(
        (counts.allocations, counts.bytes, counts.frees),
        (1, 100, 0)
    );

    let ((), counts) = counted(move || drop(kept));
    assert_eq!((counts.allocations, counts.frees), (0, 1));
    assert_eq!(counts.bytes_freed, 100);

    let mut list: Vec<u64> = Vec::with_capacity(1);
    let ((), counts) = counted(|| list.extend([1, 2, 3]));
    assert_eq!(counts.allocations, 1, "one realloc");
    assert_eq!(list, [1, 2, 3]);
}

#[test]
fn arithmetic_and_a_full_buffer_are_not() {
    let mut list: Vec<u64> = Vec::with_capacity(3);
    let (sum, counts) = counted(|| {
        list.extend([1, 2, 3]);
        list.iter().sum::<u64>()
    });
    assert_eq!(sum, 6);
    assert_eq!(counts, counting_allocator::Counts::default());
}

#[test]
fn other_threads_are_not_counted() {
    let worker = std::thread::spawn(|| {
        let before = counts();
        let text = "x".repeat(1_000);
        (text.len(), counts().allocations - before.allocations)
    });
    let ((), mine) = counted(|| {
        // Nothing of this thread's own: the other one allocates meanwhile.
        while !worker.is_finished() {
            std::hint::spin_loop();
        }
    });
    assert_eq!(mine.allocations, 0);
    assert_eq!(worker.join().expect("the worker ends"), (1_000, 1));
}
