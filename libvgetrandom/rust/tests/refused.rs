// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens when a seccomp filter refuses `getrandom(2)`.
#![allow(
    clippy::cast_possible_truncation,
    reason = "libc's constants are wider than the fields they are for"
)]

use std::error::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, exit};
use std::{env, thread};

use vgetrandom::{Batch, Status};

const REFUSAL: u16 = libc::EPERM as u16;

/// A library that asked again for ever would not end.
const SECONDS_MAX: libc::c_uint = 20;

/// Tells a process that it is the child of a test.
const CHILD: &str = "VGETRANDOM_TEST_CHILD";

/// Refuses every later `getrandom(2)` of the calling thread.
fn refuse_getrandom() {
    answer_getrandom(REFUSAL);
}

/// Makes every later `getrandom(2)` of the calling thread fail with `errno`, or succeed
/// without a byte if that is 0.
fn answer_getrandom(errno: u16) {
    let statement = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let return_ = |what| statement((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, what);
    // The number of the call is the first field that a filter sees.
    let load = statement((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0, 0);
    let is_getrandom = statement(
        (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        0,
        1,
        libc::SYS_getrandom as u32,
    );
    let mut filter = [
        load,
        is_getrandom,
        return_(libc::SECCOMP_RET_ERRNO | u32::from(errno)),
        return_(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: these calls read only their arguments, which outlive them.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    assert!(done, "no filter: {}", std::io::Error::last_os_error());
}

/// Runs on a thread that has drawn nothing yet, so that it needs a key from the kernel.
fn refused<T: Send + 'static>(draw: fn() -> T) -> T {
    let thread = thread::spawn(move || {
        refuse_getrandom();
        draw()
    });
    thread.join().expect("a thread")
}

#[test]
fn fill_returns_the_error() {
    for len in [1, 32, 128, 4096] {
        let draw = move || {
            refuse_getrandom();
            vgetrandom::fill(&mut vec![0; len])
        };
        let error = thread::spawn(draw).join().expect("a thread").unwrap_err();
        assert_eq!(error.raw_os_error(), REFUSAL.into());
    }
}

#[test]
fn fill_ends_if_calls_succeed_without_a_byte() {
    let ended = alone("fill_ends_if_calls_succeed_without_a_byte", || {
        // SAFETY: the call has no preconditions.
        unsafe { libc::alarm(SECONDS_MAX) };
        answer_getrandom(0);
        // On a thread that needs a key from the kernel.
        let drawn = thread::spawn(|| vgetrandom::fill(&mut [0; 32]));
        let error = drawn.join().expect("a thread").unwrap_err();
        assert_eq!(error.raw_os_error(), libc::EIO);
    });
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn an_error_is_one_to_rust_as_well() {
    let error: Box<dyn Error> = refused(|| vgetrandom::fill(&mut [0; 32]))
        .unwrap_err()
        .into();
    assert_eq!(
        error.to_string(),
        "the kernel's random numbers: error number 1"
    );
}

#[test]
fn nothing_is_asked_for_an_empty_buffer() {
    assert_eq!(refused(|| vgetrandom::fill(&mut [])), Ok(()));
}

#[test]
fn prewarm_returns_an_error() {
    let error = refused(vgetrandom::prewarm).unwrap_err();
    // A kernel without the vDSO function has nothing to warm.
    assert!([REFUSAL.into(), libc::ENOSYS].contains(&error.raw_os_error()));
}

#[test]
fn after_prewarm_nothing_needs_the_call() {
    let ended = alone("after_prewarm_nothing_needs_the_call", || {
        if vgetrandom::prewarm().is_err() {
            assert_ne!(vgetrandom::status(), Status::Vdso);
            return;
        }
        refuse_getrandom();
        vgetrandom::fill(&mut [0; 32]).expect("32 bytes");
        vgetrandom::fill(&mut vec![0; 65536]).expect("64 KiB");
        let _ = Batch.u64();
    });
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn a_batch_ends_the_program() {
    let ended = alone("a_batch_ends_the_program", || {
        let _ = refused(|| Batch.u64());
    });
    let signal = ended.status.signal();
    assert!(
        [Some(libc::SIGILL), Some(libc::SIGTRAP)].contains(&signal),
        "{ended:?}"
    );
}

/// Runs `body` of the test `name` in a process of its own, because later threads get states
/// that are already warm, and the other tests need cold ones.
fn alone(name: &str, body: fn()) -> Output {
    if env::var_os(CHILD).is_some() {
        body();
        exit(0);
    }
    Command::new(env::current_exe().expect("this program"))
        .args(["--exact", name])
        .env(CHILD, "1")
        .output()
        .expect("a child")
}
