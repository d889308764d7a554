// SPDX-License-Identifier: MIT OR Apache-2.0
use core::fmt;

/// An error number from the kernel.
///
/// With `std`, its text is that of `std::io::Error::from_raw_os_error(error.raw_os_error())`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error {
    errno: i32,
}

impl Error {
    /// Makes it from what a C function returned: a negative error number.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "error numbers are below 4096"
    )]
    pub(crate) const fn from_negative(returned: isize) -> Self {
        Self {
            errno: -returned as i32,
        }
    }

    /// Returns the error number as in `errno.h`, which is positive.
    #[must_use]
    pub const fn raw_os_error(self) -> i32 {
        self.errno
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the kernel's random numbers: error number {}",
            self.errno
        )
    }
}

impl core::error::Error for Error {}
