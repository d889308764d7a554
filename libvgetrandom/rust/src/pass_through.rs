// SPDX-License-Identifier: MIT OR Apache-2.0
use rand_core::{TryCryptoRng, TryRng};

use crate::{Error, fill};

/// The kernel's generator itself, as in [`fill`], for `rand` and crates that build on it.
///
/// Needs the feature `rand_core`. Where an infallible generator is required, wrap it in
/// `rand_core::UnwrapErr`, which panics if the kernel refuses.
///
/// This type is empty, because states belong to threads, inside the library. So it may be
/// copied and sent to other threads.
///
/// # Examples
///
/// ```
/// use rand::SeedableRng;
/// use rand::rngs::StdRng;
///
/// let rng = StdRng::try_from_rng(&mut vgetrandom::PassThrough)?;
/// # Ok::<(), vgetrandom::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PassThrough;

impl TryRng for PassThrough {
    type Error = Error;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Error> {
        array().map(u32::from_ne_bytes)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Error> {
        array().map(u64::from_ne_bytes)
    }

    #[inline]
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        fill(dst)
    }
}

impl TryCryptoRng for PassThrough {}

#[inline]
fn array<const SIZE: usize>() -> Result<[u8; SIZE], Error> {
    let mut bytes = [0; SIZE];
    fill(&mut bytes)?;
    Ok(bytes)
}
