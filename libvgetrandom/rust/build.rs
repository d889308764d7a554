// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the C library with the flags of its meson.build.

use std::env;

/// Links to the folders beside this crate, so that a package of it contains them.
const SOURCES: &str = "c/src";
const HEADERS: &str = "c/include";

const CORE: [&str; 9] = [
    "batch",
    "chacha20",
    "config",
    "draw",
    "libc",
    "pool",
    "thread",
    "vdso",
    "vgetrandom",
];

/// A file for each vector unit, and the flags that make the compiler use it.
type VectorUnits = &'static [(&'static str, &'static [&'static str])];

const X86_64: VectorUnits = &[
    ("chacha20_sse2", &["-msse2"]),
    ("chacha20_avx2", &["-mavx2"]),
    ("chacha20_avx512", &["-mavx512f"]),
];
const AARCH64: VectorUnits = &[("chacha20_neon", &[])];

fn main() {
    let vector_units = vector_units();
    println!("cargo:rerun-if-changed={SOURCES}");
    println!("cargo:rerun-if-changed={HEADERS}");

    let compiler = compiler();
    let mut library = compiler.clone();
    for (unit, flags) in vector_units {
        let mut build = compiler.clone();
        build.file(source(unit)).flags(*flags);
        library.objects(build.compile_intermediates());
    }
    library.files(CORE.map(source)).compile("vgetrandom");
    // The library needs it to identify the CPU. Without std, nothing else links it.
    println!("cargo:rustc-link-lib=gcc");
}

fn vector_units() -> VectorUnits {
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let kind = ["OS", "ARCH", "POINTER_WIDTH", "ENDIAN"].map(target);
    match kind.each_ref().map(String::as_str) {
        ["linux", "x86_64", "64", "little"] => X86_64,
        ["linux", "aarch64", "64", "little"] => AARCH64,
        _ => panic!(
            "vgetrandom is for Linux on x86-64 and arm64, both 64-bit and little-endian, not {}",
            kind.join(" "),
        ),
    }
}

fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .include(HEADERS)
        .std("gnu11")
        .define("_GNU_SOURCE", None)
        .flag("-ffreestanding")
        .flag("-fno-stack-protector")
        .flag("-fvisibility=hidden")
        .flag("-fno-semantic-interposition")
        // rustc's linker could not use it, and gcc's only from a gcc of the same version.
        .flag("-fno-lto")
        // Exists on arm64 only.
        .flag_if_supported("-mno-outline-atomics")
        // In debug builds as well: unoptimized code leaves secrets on the stack.
        .opt_level(2)
        .force_frame_pointer(false);
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64") {
        build
            .flag("-falign-functions=32")
            .flag_if_supported("-mbranches-within-32B-boundaries")
            .flag_if_supported("-Wa,-mbranches-within-32B-boundaries");
    }
    build
}

fn source(name: &str) -> String {
    format!("{SOURCES}/{name}.c")
}
