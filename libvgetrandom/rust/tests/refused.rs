// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens when a seccomp filter refuses `getrandom(2)`, or memory.
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
    install(&mut [
        load(NUMBER),
        unless_equal(libc::SYS_getrandom as u32, 1),
        return_(libc::SECCOMP_RET_ERRNO | u32::from(errno)),
        return_(libc::SECCOMP_RET_ALLOW),
    ]);
}

/// Leaves the calling thread system calls, of which those with flags fail.
fn refuse_memory_and_flags() {
    install(&mut [
        load(NUMBER),
        unless_equal(libc::SYS_mmap as u32, 1),
        return_(libc::SECCOMP_RET_ERRNO | u32::from(REFUSAL)),
        unless_equal(libc::SYS_getrandom as u32, 3),
        load(THIRD_ARGUMENT),
        unless_equal(0, 2),
        return_(libc::SECCOMP_RET_ALLOW),
        return_(libc::SECCOMP_RET_ALLOW),
        return_(libc::SECCOMP_RET_ERRNO | u32::from(REFUSAL)),
    ]);
}

/// Where a filter finds the number of the call.
const NUMBER: u32 = 0;
/// The lower half, which comes first.
const THIRD_ARGUMENT: u32 = 32;

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, offset)
}

/// Skips so many statements if something else is loaded.
fn unless_equal(value: u32, skip: u8) -> libc::sock_filter {
    statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, skip, value)
}

fn return_(what: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, 0, what)
}

fn statement(code: u32, jf: u8, k: u32) -> libc::sock_filter {
    let code = code as u16;
    libc::sock_filter { code, jt: 0, jf, k }
}

fn install(filter: &mut [libc::sock_filter]) {
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
fn without_memory_it_says_so_and_asks_without_flags() {
    let ended = alone("without_memory_it_says_so_and_asks_without_flags", || {
        refuse_memory_and_flags();
        vgetrandom::fill(&mut [0; 32]).expect("32 bytes");
        vgetrandom::fill(&mut [0; 300]).expect("300 bytes");
        let _ = Batch.u64();
        let why = vgetrandom::prewarm().unwrap_err().raw_os_error();
        let status = match why {
            libc::ENOMEM => Status::NoMemory,
            libc::ENOSYS => Status::NoVdso,
            _ => panic!("error {why}"),
        };
        assert_eq!(vgetrandom::status(), status);
    });
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn what_a_thread_released_serves_the_next() {
    let ended = alone("what_a_thread_released_serves_the_next", || {
        if vgetrandom::prewarm().is_err() {
            return;
        }
        vgetrandom::release();
        // Its key is in the state that this thread gave back.
        assert_eq!(refused(|| vgetrandom::fill(&mut [0; 32])), Ok(()));
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
