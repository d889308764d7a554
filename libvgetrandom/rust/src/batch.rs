// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::ffi;

/// Random numbers from a buffer of the calling thread, for programs that draw many small
/// ones.
///
/// # A batch does not notice that its virtual machine was cloned
///
/// Nor that it was restored from a snapshot, until the buffer is filled again: **both machines
/// get the same numbers, at most 3072 bytes.** [`fill`](crate::fill) and `PassThrough` notice.
/// So do not draw keys, nonces or tokens from a batch where machines are snapshotted. A batch
/// notices forks.
///
/// # What it is
///
/// `ChaCha20` with 20 rounds makes the buffer from a fresh key of the kernel's generator. The
/// buffer is erased as it is read, and discarded after a second.
///
/// This type is empty, because buffers belong to threads, inside the library. So it may be
/// copied and sent to other threads, where it draws from their buffers.
///
/// # Ends the program
///
/// With `SIGILL` or `SIGTRAP` and without a panic, if the kernel refuses to give random
/// bytes, which it does only under a seccomp filter.
///
/// # Examples
///
/// ```
/// let bucket = vgetrandom::Batch.u64() % 16;
/// # assert!(bucket < 16);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch;

impl Batch {
    /// Draws 32 bits.
    #[inline]
    #[must_use]
    pub fn u32(self) -> u32 {
        ffi::vgetrandom_batch_u32()
    }

    /// Draws 64 bits.
    #[inline]
    #[must_use]
    pub fn u64(self) -> u64 {
        ffi::vgetrandom_batch_u64()
    }

    /// Fills `buf`.
    #[inline]
    pub fn fill(self, buf: &mut [u8]) {
        // SAFETY: the pointer and the length are those of one slice.
        unsafe { ffi::vgetrandom_batch_bytes(buf.as_mut_ptr().cast(), buf.len()) };
    }
}

/// With the feature `rand_core`. Not a `CryptoRng`, so that what asks for one, because it
/// makes keys, does not take a batch: give it `PassThrough`.
#[cfg(feature = "rand_core")]
impl rand_core::TryRng for Batch {
    type Error = rand_core::Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.u64())
    }

    #[inline]
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
        self.fill(dst);
        Ok(())
    }
}
