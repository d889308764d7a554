// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::{Error, ffi};

/// Makes everything that the calling thread will need, so that its later calls make no system
/// call, for example in a sandbox.
///
/// This includes signal handlers nested up to three deep. One system call remains: when the
/// kernel has reseeded its generator, about once a minute, its own function calls
/// `getrandom(2)`.
///
/// # Errors
///
/// Calls of this thread will make system calls, and work: `ENOSYS` if the kernel offers no vDSO
/// function, `ENOMEM` if there is no memory. Or they will fail with this error.
///
/// # Examples
///
/// ```
/// if let Err(why) = vgetrandom::prewarm() {
///     eprintln!("the sandbox must allow getrandom(2): {why}");
/// }
/// ```
pub fn prewarm() -> Result<(), Error> {
    match ffi::vgetrandom_prewarm() {
        0 => Ok(()),
        err => Err(Error::from_negative(err as isize)),
    }
}

/// Gives back what the calling thread holds; its next call takes it again.
///
/// For threads that end without libc's knowledge: those of `std` and of libc give back
/// automatically. Do not call it in a signal handler.
pub fn release() {
    ffi::vgetrandom_release();
}
