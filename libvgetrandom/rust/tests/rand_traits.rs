// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library as a source for `rand`.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng, TryCryptoRng, TryRng};
use rand_core::UnwrapErr;
use vgetrandom::{Batch, PassThrough};

const DRAWS: usize = 6000;

/// Limits for a fair die: by chance, one of six faces comes fewer than 700 or more than 1,300
/// times in 6,000 once in 10^24.
fn check_die(rng: &mut impl Rng) {
    let mut faces = [0; 6];
    for _ in 0..DRAWS {
        faces[rng.random_range(0..6)] += 1;
    }
    assert!(
        faces.iter().all(|count| (700..1300).contains(count)),
        "{faces:?}"
    );
}

fn check_differ(mut draw: impl FnMut() -> [u8; 32]) {
    let (first, second) = (draw(), draw());
    assert_ne!(first, second);
    assert!(first != [0; 32] && second != [0; 32]);
}

#[test]
fn they_are_generators_for_any_thread() {
    fn infallible<T: Rng + Copy + Send + Sync>(_: T) {}
    fn fallible<T: TryCryptoRng<Error = vgetrandom::Error> + Copy + Send + Sync>(_: T) {}
    infallible(Batch);
    fallible(PassThrough);
}

/// Two ways to name the function below for a type that is a `TryCryptoRng`, which would not
/// compile.
trait NoKeysFrom<Way> {
    fn assert() {}
}
impl<T> NoKeysFrom<()> for T {}
impl<T: TryCryptoRng> NoKeysFrom<u8> for T {}

#[test]
fn keys_are_not_drawn_from_a_batch() {
    <Batch as NoKeysFrom<_>>::assert();
}

#[test]
fn ranges_are_drawn_evenly() {
    check_die(&mut Batch);
    check_die(&mut UnwrapErr(PassThrough));
}

#[test]
fn pass_through_seeds_other_generators() {
    check_differ(|| {
        StdRng::try_from_rng(&mut PassThrough)
            .expect("a seed")
            .random()
    });
}

#[test]
fn they_shuffle() {
    let sorted: Vec<u32> = (0..100).collect();
    let mut shuffled = sorted.clone();
    shuffled.shuffle(&mut Batch);
    assert_ne!(shuffled, sorted);
    shuffled.sort_unstable();
    assert_eq!(shuffled, sorted);
}

#[test]
fn words_and_bytes_are_drawn() {
    check_source(&mut Batch);
    check_source(&mut PassThrough);
}

fn check_source<T: TryRng>(source: &mut T) {
    check_differ(|| {
        let mut bytes = [0; 32];
        source.try_fill_bytes(&mut bytes).expect("bytes");
        bytes
    });
    let mut ones = 0;
    for _ in 0..DRAWS / 6 {
        ones += source.try_next_u32().expect("32 bits").count_ones();
        ones += source.try_next_u64().expect("64 bits").count_ones();
    }
    // 48,000 of 96,000 bits, within ten standard deviations.
    assert!((46_450..49_550).contains(&ones), "{ones} bits are set");
}
