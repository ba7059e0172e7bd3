//! Links the release program with packed relocations: half a megabyte less to ship, and to keep in memory.
#![expect(clippy::disallowed_methods, reason = "Cargo sets these variables")]

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=.cargo/build.rs");
    // Only for native builds: the C library of another target is unknown.
    let is_for_here = var("TARGET") == var("HOST");
    let is_release = var("PROFILE").is_ok_and(|profile| profile == "release");
    if is_for_here && is_release && unpacks_relocations() {
        // A linker without this option ignores it.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// True if the C library loads such a program, as glibc does since 2.36.
fn unpacks_relocations() -> bool {
    let found = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let minor = found.ok().and_then(|found| {
        let version = String::from_utf8(found.stdout).ok()?;
        version.trim().strip_prefix("glibc 2.")?.parse().ok()
    });
    minor.is_some_and(|minor: u32| minor >= 36)
}
