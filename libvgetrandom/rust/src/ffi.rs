// SPDX-License-Identifier: MIT OR Apache-2.0
//! `vgetrandom.h`, translated by hand.

use core::ffi::{c_char, c_int, c_uint, c_void};

unsafe extern "C" {
    /// `buf` must be valid for writes of `len` bytes.
    pub fn vgetrandom(buf: *mut c_void, len: usize, flags: c_uint) -> isize;
    pub safe fn vgetrandom_prewarm() -> c_int;
    pub safe fn vgetrandom_release();
    pub safe fn vgetrandom_status() -> c_uint;
    /// Static text for any argument, never null.
    pub safe fn vgetrandom_status_text(status: c_uint) -> *const c_char;
    /// Static text, never null.
    pub safe fn vgetrandom_simd() -> *const c_char;
    pub safe fn vgetrandom_batch_u32() -> u32;
    pub safe fn vgetrandom_batch_u64() -> u64;
    /// `buf` must be valid for writes of `len` bytes.
    pub fn vgetrandom_batch_bytes(buf: *mut c_void, len: usize);
}
