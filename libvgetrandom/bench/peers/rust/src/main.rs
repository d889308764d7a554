// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times the sources from which Rust programs draw their random numbers.
//!
//! A worker as described in bench/workers/worker.h; the argument names the source.

use std::hint::black_box;
use std::io::{self, BufRead};
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use rand::rngs::ThreadRng;
use rand::Rng;

/// Draws are checked in pieces of this size, which never repeat by chance.
const PIECE: usize = 16;

/// Something that gives random bytes; each thread has its own.
trait Source {
    fn new() -> Self;
    fn word32(&mut self) -> u32;
    fn word64(&mut self) -> u64;
    fn bytes(&mut self, buf: &mut [u8]);
}

struct Getrandom;

impl Source for Getrandom {
    fn new() -> Self {
        Getrandom
    }

    fn word32(&mut self) -> u32 {
        getrandom::u32().expect("getrandom")
    }

    fn word64(&mut self) -> u64 {
        getrandom::u64().expect("getrandom")
    }

    fn bytes(&mut self, buf: &mut [u8]) {
        getrandom::fill(buf).expect("getrandom")
    }
}

impl Source for ThreadRng {
    fn new() -> Self {
        rand::rng()
    }

    fn word32(&mut self) -> u32 {
        self.next_u32()
    }

    fn word64(&mut self) -> u64 {
        self.next_u64()
    }

    fn bytes(&mut self, buf: &mut [u8]) {
        self.fill_bytes(buf)
    }
}

struct AwsLc;

impl Source for AwsLc {
    fn new() -> Self {
        AwsLc
    }

    fn word32(&mut self) -> u32 {
        let mut word = [0; 4];
        self.bytes(&mut word);
        u32::from_ne_bytes(word)
    }

    fn word64(&mut self) -> u64 {
        let mut word = [0; 8];
        self.bytes(&mut word);
        u64::from_ne_bytes(word)
    }

    fn bytes(&mut self, buf: &mut [u8]) {
        // SAFETY: the pointer and the length are those of one slice.
        let done = unsafe { aws_lc_sys::RAND_bytes(buf.as_mut_ptr(), buf.len()) };
        assert_eq!(done, 1, "RAND_bytes() failed");
    }
}

#[inline(never)]
fn draws<S: Source>(source: &mut S, buf: &mut [u8], count: u64) {
    match buf.len() {
        4 => {
            for _ in 0..count {
                buf.copy_from_slice(&source.word32().to_ne_bytes());
                black_box(&mut *buf);
            }
        }
        8 => {
            for _ in 0..count {
                buf.copy_from_slice(&source.word64().to_ne_bytes());
                black_box(&mut *buf);
            }
        }
        _ => {
            for _ in 0..count {
                source.bytes(buf);
                black_box(&mut *buf);
            }
        }
    }
}

/// Small draws fill one piece together.
fn fill<S: Source>(source: &mut S, buf: &mut [u8], size: usize) {
    for part in buf.chunks_exact_mut(size) {
        draws(source, part, 1);
    }
}

/// Whether each piece of `a` is neither zero nor the same as in `b`.
fn differ(a: &[u8], b: &[u8]) -> bool {
    a.chunks_exact(PIECE)
        .zip(b.chunks_exact(PIECE))
        .all(|(a, b)| a != [0; PIECE] && a != b)
}

fn run<S: Source>(
    size: usize,
    count: u64,
    threads: usize,
    arrived: &AtomicUsize,
) -> (Instant, Instant) {
    let mut source = S::new();
    let mut buf = vec![0; size.max(PIECE)];
    let mut before = vec![0; buf.len()];
    fill(&mut source, &mut before, size);
    draws(&mut source, &mut buf[..size], count / 16);
    arrived.fetch_add(1, Ordering::SeqCst);
    while arrived.load(Ordering::SeqCst) < threads {
        thread::yield_now();
    }
    let begin = Instant::now();
    draws(&mut source, &mut buf[..size], count);
    let end = Instant::now();
    if size < PIECE {
        fill(&mut source, &mut buf, size);
    }
    if !differ(&buf, &before) {
        fail("the bytes are not random");
    }
    (begin, end)
}

/// Nanoseconds from the first thread's start to the last thread's end.
fn time_run<S: Source>(size: usize, count: u64, threads: usize) -> u128 {
    let arrived = &AtomicUsize::new(0);
    let spans = if threads == 1 {
        vec![run::<S>(size, count, threads, arrived)]
    } else {
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|_| scope.spawn(move || run::<S>(size, count, threads, arrived)))
                .collect();
            running
                .into_iter()
                .map(|one| one.join().expect("a thread panicked"))
                .collect()
        })
    };
    let begin = spans.iter().map(|span| span.0).min().expect("a thread");
    let end = spans.iter().map(|span| span.1).max().expect("a thread");
    (end - begin).as_nanos()
}

fn serve<S: Source>() {
    println!("ready");
    for line in io::stdin().lock().lines() {
        let line = line.expect("stdin");
        let numbers: Vec<usize> = line
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        let &[size, threads, count] = numbers.as_slice() else {
            fail("a line is not SIZE THREADS COUNT");
        };
        println!("{}", time_run::<S>(size, count as u64, threads));
    }
}

fn fail(why: &str) -> ! {
    eprintln!("{why}");
    exit(1)
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("getrandom") => serve::<Getrandom>(),
        Some("thread-rng") => serve::<ThreadRng>(),
        Some("aws-lc") => serve::<AwsLc>(),
        _ => fail("the argument is getrandom, thread-rng or aws-lc"),
    }
}
