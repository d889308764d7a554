// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::{Error, ffi};

/// Makes all that the calling thread will need, so that its later calls do no system call,
/// as a sandbox may want it.
///
/// That holds for signal handlers nested up to three deep, too. One system call remains: when the
/// kernel reseeds its generator, about once a minute, its own function calls
/// `getrandom(2)`.
///
/// # Errors
///
/// Calls of this thread will do system calls, and work: `ENOSYS` if the kernel offers no vDSO
/// function, `ENOMEM` without memory. Or they will fail with this error.
///
/// # Examples
///
/// ```
/// if let Err(why) = vgetrandom::prewarm() {
///     eprintln!("getrandom(2) has to be allowed here: {why}");
/// }
/// ```
pub fn prewarm() -> Result<(), Error> {
    match ffi::vgetrandom_prewarm() {
        0 => Ok(()),
        err => Err(Error::from_negative(err as isize)),
    }
}

/// Gives back what the calling thread holds; its next call takes anew.
///
/// For threads that end without libc's knowledge: those of `std` and of libc give back by
/// themselves. Not to be called in a signal handler.
pub fn release() {
    ffi::vgetrandom_release();
}
