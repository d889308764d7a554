// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program in which all users of the `getrandom` crate unknowingly draw from vgetrandom.
//!
//!     RUSTFLAGS='--cfg getrandom_backend="custom"' cargo run --example getrandom_backend

use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use getrandom::Error;
use rand::rngs::SysRng;
use rand::{RngExt, TryRng};

/// Keys of 32 bytes.
const KEYS: usize = 5000;

/// Only shows that it works.
static SERVED: AtomicUsize = AtomicUsize::new(0);

/// What `getrandom` calls, in 0.3 and later.
///
/// # Safety
///
/// `dest` is valid for writes of `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(dest: *mut u8, len: usize) -> Result<(), Error> {
    // SAFETY: the caller guarantees it; the bytes need not be initialized.
    let buf = unsafe { slice::from_raw_parts_mut(dest.cast::<MaybeUninit<u8>>(), len) };
    vgetrandom::fill_uninit(buf).map_err(|error| {
        Error::new_custom(u16::try_from(error.raw_os_error()).unwrap_or(u16::MAX))
    })?;
    SERVED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

fn main() {
    let mut key = [0; 32];
    for _ in 0..KEYS {
        SysRng.try_fill_bytes(&mut key).expect("a key");
    }
    let die = rand::rng().random_range(1..=6);

    println!("{KEYS} keys, and a die that shows {die}");
    println!(
        "{} draws were served by vgetrandom, by {}",
        SERVED.load(Ordering::Relaxed),
        vgetrandom::status()
    );
}
