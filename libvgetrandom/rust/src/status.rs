// SPDX-License-Identifier: MIT OR Apache-2.0
use core::ffi::{CStr, c_char, c_uint};
use core::fmt;

use crate::ffi;

/// How the calling thread is served: for logs and tests.
///
/// All of them are equally secure. `Display` puts the status into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The kernel's vDSO function.
    Vdso = 0,
    /// System calls: the kernel has no such function (before Linux 6.11), or hides it.
    NoVdso = 1,
    /// System calls: there was no memory for a state. Tried again from time to time.
    NoMemory = 2,
    /// The vDSO function, with a state borrowed for each call, which is somewhat slower: this
    /// thread is about to end, or libc would not tell when it ends.
    Borrowed = 3,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(text(ffi::vgetrandom_status_text(*self as c_uint)))
    }
}

/// Returns how the next call of this thread will be served.
///
/// ```
/// println!("random numbers come by {}", vgetrandom::status());
/// ```
#[must_use]
pub fn status() -> Status {
    match ffi::vgetrandom_status() {
        0 => Status::Vdso,
        1 => Status::NoVdso,
        2 => Status::NoMemory,
        3 => Status::Borrowed,
        status => unreachable!("vgetrandom.h has no status {status}"),
    }
}

/// Returns the vector instructions in use: `avx512`, `avx2`, `sse2` or `neon`.
#[must_use]
pub fn simd() -> &'static str {
    text(ffi::vgetrandom_simd())
}

fn text(of_c: *const c_char) -> &'static str {
    // SAFETY: the library's texts are static constants.
    let text = unsafe { CStr::from_ptr(of_c) };
    text.to_str().unwrap_or_default()
}
