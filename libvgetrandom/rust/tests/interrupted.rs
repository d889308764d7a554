// SPDX-License-Identifier: MIT OR Apache-2.0
//! A request continues after signals interrupt it. The test has a program of its own, because
//! its memory limit covers the process.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use vgetrandom::Status;

/// Takes the kernel far longer than a signal takes to arrive, so that calls end early.
const SIZE: usize = 64 << 20;
const BETWEEN_SIGNALS: Duration = Duration::from_millis(1);

extern "C" fn ignore(_: libc::c_int) {}

/// Interrupts `thread`, which outlives this, until `done`.
fn interrupt(thread: libc::pthread_t, done: &AtomicBool) {
    let handler = ignore as extern "C" fn(libc::c_int);
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    while !done.load(Ordering::Relaxed) {
        // SAFETY: the thread exists.
        unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
        thread::sleep(BETWEEN_SIGNALS);
    }
}

/// Limits the memory of this process; returns the previous limit.
fn limit_memory(bytes: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls have a limit that outlives them.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut limit), 0);
        let before = limit.rlim_cur;
        limit.rlim_cur = bytes;
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
        before
    }
}

#[test]
fn all_is_filled_though_signals_end_calls_early() {
    let mut buf = vec![0; SIZE];
    let started = Barrier::new(2);
    let done = AtomicBool::new(false);
    // SAFETY: the call has no preconditions.
    let this = unsafe { libc::pthread_self() };
    let (filled, status) = thread::scope(|scope| {
        scope.spawn(|| {
            started.wait();
            interrupt(this, &done);
        });
        // The start of a thread takes memory.
        started.wait();
        // Without memory for a state the library makes the system call, which checks for
        // signals.
        let before = limit_memory(0);
        let drawn = (vgetrandom::fill(&mut buf), vgetrandom::status());
        limit_memory(before);
        done.store(true, Ordering::Relaxed);
        drawn
    });
    assert_eq!(filled, Ok(()));
    assert!([Status::NoMemory, Status::NoVdso].contains(&status));
    assert!(buf.chunks(16).all(|piece| piece != [0; 16]));
}
