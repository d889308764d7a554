// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![no_std]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod batch;
mod error;
mod ffi;
#[cfg(feature = "rand_core")]
mod pass_through;
mod status;
mod thread;

use core::mem::MaybeUninit;
use core::ptr;

pub use batch::Batch;
pub use error::Error;
#[cfg(feature = "rand_core")]
pub use pass_through::PassThrough;
pub use status::{Status, simd, status};
pub use thread::{prewarm, release};

/// Fills `buf` with random bytes from the kernel's generator, usually without a system call.
///
/// This is as secure as `getrandom(2)`. Any thread may call it, and so may a signal handler at
/// any moment; forks need no care. Like the system call, it waits while a system that just
/// booted has no entropy yet.
///
/// # Errors
///
/// Those of `getrandom(2)`, and `EIO` if that succeeds without a byte. On a kernel that has
/// this call, only a seccomp filter makes it fail. Do not use the contents of `buf` then.
///
/// # Examples
///
/// ```
/// let mut key = [0; 32];
/// vgetrandom::fill(&mut key)?;
/// # assert_ne!(key, [0; 32]);
/// # Ok::<(), vgetrandom::Error>(())
/// ```
#[inline]
pub fn fill(buf: &mut [u8]) -> Result<(), Error> {
    // SAFETY: only initialized bytes are ever written to memory that is already initialized.
    let buf = unsafe { &mut *(ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
    fill_uninit(buf).map(|_| ())
}

/// [`fill`] for uninitialized memory; returns `buf`, filled.
///
/// # Errors
///
/// Those of [`fill`].
///
/// # Examples
///
/// ```
/// use core::mem::MaybeUninit;
///
/// let mut memory = [MaybeUninit::uninit(); 32];
/// let key: &mut [u8] = vgetrandom::fill_uninit(&mut memory)?;
/// # assert_ne!(key, [0; 32]);
/// # Ok::<(), vgetrandom::Error>(())
/// ```
#[inline]
pub fn fill_uninit(buf: &mut [MaybeUninit<u8>]) -> Result<&mut [u8], Error> {
    let mut done = 0;
    while done < buf.len() {
        let rest = &mut buf[done..];
        // SAFETY: the pointer and the length are those of one slice.
        let got = unsafe { ffi::vgetrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            // A filter pretends that system calls succeed.
            Ok(0) => return Err(Error::from_negative(NO_BYTES)),
            // A signal may end a long request early, or before its first byte.
            Ok(got) => done += got,
            Err(_) if got == INTERRUPTED => {}
            Err(_) => return Err(Error::from_negative(got)),
        }
    }
    // SAFETY: the loop ends when every byte has been written.
    Ok(unsafe { &mut *(ptr::from_mut(buf) as *mut [u8]) })
}

/// `-EINTR`, the same on both architectures.
const INTERRUPTED: isize = -4;

/// `-EIO`, which `getrandom(2)` itself never returns.
const NO_BYTES: isize = -5;
