// SPDX-License-Identifier: MIT OR Apache-2.0
//! Draws without std; exits 0 if that worked.
//!
//!     cargo run --package vgetrandom-no-std --profile no-std
#![no_std]
#![no_main]

use core::ffi::c_int;
use core::panic::PanicInfo;

#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    abort()
}

/// libc calls this.
#[unsafe(no_mangle)]
pub extern "C" fn main() -> c_int {
    let mut key = [0; 32];
    let drawn = vgetrandom::fill(&mut key).is_ok() && key != [0; 32];
    let differ = vgetrandom::Batch.u64() != vgetrandom::Batch.u64();
    c_int::from(!(drawn && differ))
}
