//! The C libraries: `libmaskwright` (`maskwright.h`), `libmaskwright_llguidance` with the symbols of
//! `llguidance.h`, and `libollama_constraints`, which Ollama opens.
//!
//! Each is this crate with one feature; `cargo xtask c-library` builds and installs them. The headers in
//! `include/` are what cbindgen makes of the sources (`tests/headers.rs`).
//!
//! **Pointers.** The only unsafe code of the project is here. What a caller has to keep, in all functions: a
//! pointer is NULL or points to what its type says, for as long as the function runs (an object: until the
//! function that frees it); a text ends with a NUL byte, and where a length is given, so much is there.
//! `pointers` makes references of pointers under that promise, and refuses what it can tell from outside:
//! NULL where something must be, an object of another kind, a pointer that is not aligned.
//!
//! **Panics.** A panic is a bug of ours. None crosses into C: `guard` makes it an error.
//!
//! **Threads.** Functions that take `const` pointers may run on several threads at once, others only where no
//! other call has the same object.

// The libraries share helpers that not all of them use.
#![cfg_attr(
    not(all(feature = "native", feature = "llguidance", feature = "ollama")),
    allow(dead_code, unused_imports)
)]

mod guard;
#[cfg(feature = "llguidance")]
pub mod llguidance;
#[cfg(feature = "native")]
pub mod native;
#[cfg(feature = "ollama")]
pub mod ollama;
mod pointers;
