// SPDX-License-Identifier: MIT OR Apache-2.0
//! Draws in all ways, on one thread and on many.

use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::thread;

use vgetrandom::{Batch, Status};

/// Draws are checked in pieces of this size, which never repeat by chance.
const PIECE: usize = 16;
const LENGTHS: [usize; 10] = [16, 32, 96, 112, 128, 144, 256, 4096, 65536, 1 << 20];
const THREADS: usize = 8;
const ROUNDS: usize = 200;

type Piece = [u8; PIECE];

/// Pieces of many draws, of which no two may be equal.
#[derive(Default)]
struct Drawn(HashSet<Piece>);

impl Drawn {
    fn add(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks_exact(PIECE) {
            assert_ne!(piece, [0; PIECE], "not written to");
            let new = self.0.insert(piece.try_into().expect("a piece"));
            assert!(new, "drawn twice: {piece:x?}");
        }
    }
}

fn filled(len: usize) -> Vec<u8> {
    let mut buf = vec![0; len];
    vgetrandom::fill(&mut buf).expect("fill");
    buf
}

fn filled_uninit(len: usize) -> Vec<u8> {
    let mut memory = vec![MaybeUninit::uninit(); len];
    vgetrandom::fill_uninit(&mut memory)
        .expect("fill_uninit")
        .to_vec()
}

fn batched(len: usize) -> Vec<u8> {
    let mut buf = vec![0; len];
    Batch.fill(&mut buf);
    buf
}

fn batched_words(len: usize) -> Vec<u8> {
    let words = (0..len / 16).flat_map(|_| {
        [
            (u64::from(Batch.u32()) << 32) | u64::from(Batch.u32()),
            Batch.u64(),
        ]
    });
    words.flat_map(u64::to_ne_bytes).collect()
}

const SOURCES: [fn(usize) -> Vec<u8>; 4] = [filled, filled_uninit, batched, batched_words];

#[test]
fn no_two_draws_of_any_length_are_equal() {
    let mut drawn = Drawn::default();
    for source in SOURCES {
        for len in LENGTHS {
            let bytes = source(len);
            assert_eq!(bytes.len(), len);
            drawn.add(&bytes);
        }
    }
}

#[test]
fn exactly_the_buffer_is_written_to() {
    const GUARD: usize = 8;
    for len in 0..300 {
        for fill in [
            |buf: &mut [u8]| vgetrandom::fill(buf).expect("fill"),
            |buf: &mut [u8]| Batch.fill(buf),
        ] {
            let mut buf = vec![0; GUARD + len + GUARD];
            // A byte may be zero by chance, but not every time.
            let mut written = vec![0; len];
            for _ in 0..16 {
                let inner = &mut buf[GUARD..GUARD + len];
                fill(inner);
                written
                    .iter_mut()
                    .zip(inner)
                    .for_each(|(all, one)| *all |= *one);
            }
            assert!(!written.contains(&0), "not all of {len} bytes are written");
            assert_eq!(buf[..GUARD], [0; GUARD], "before {len} bytes");
            assert_eq!(buf[GUARD + len..], [0; GUARD], "after {len} bytes");
        }
    }
}

#[test]
fn no_two_threads_draw_the_same() {
    let draw = || {
        let each = SOURCES.map(|source| (0..ROUNDS).flat_map(|_| source(PIECE)).collect());
        let each: [Vec<u8>; 4] = each;
        each.concat()
    };
    let mut drawn = Drawn::default();
    // Later threads get what threads that ended gave back.
    for _ in 0..4 {
        let threads: Vec<_> = (0..THREADS).map(|_| thread::spawn(draw)).collect();
        for thread in threads {
            drawn.add(&thread.join().expect("a thread"));
        }
    }
    assert_eq!(drawn.0.len(), 4 * THREADS * SOURCES.len() * ROUNDS);
}

#[test]
fn a_thread_draws_on_after_it_gave_back() {
    let mut drawn = Drawn::default();
    for _ in 0..3 {
        drawn.add(&filled(PIECE));
        drawn.add(&batched(PIECE));
        vgetrandom::release();
    }
}

#[test]
fn it_says_how_numbers_come() {
    let served = vgetrandom::prewarm().is_ok();
    assert_eq!(vgetrandom::status() == Status::Vdso, served);
    assert!(["avx512", "avx2", "sse2", "neon"].contains(&vgetrandom::simd()));
}

#[test]
fn each_status_has_its_text() {
    let each = [
        (Status::Vdso, "the kernel's vDSO function"),
        (
            Status::NoVdso,
            "system calls: the kernel offers no vDSO function",
        ),
        (Status::NoMemory, "system calls: no memory for a state"),
        (
            Status::Borrowed,
            "the kernel's vDSO function, with a state borrowed for each call",
        ),
    ];
    for (status, text) in each {
        assert_eq!(status.to_string(), text);
    }
}
