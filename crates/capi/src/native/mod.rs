//! `maskwright.h`: the API of `libmaskwright`.
//!
//! Every function that can fail returns a [`Status`], writes its result through a pointer, and takes as its
//! last argument where to put an error (NULL if it is not wanted). An error must be freed.

mod compiler;
mod error;
mod session;
mod tokenizer;

use std::ffi::c_char;

pub use compiler::*;
pub use error::*;
pub use session::*;
pub use tokenizer::*;

use crate::pointers;

/// The version of this interface. A library with the same one has all that this header declares.
pub const MW_ABI_VERSION: u32 = 1;

/// The interface of the library that is in use: `MW_ABI_VERSION` of its header. May be called from any
/// thread.
#[unsafe(no_mangle)]
pub extern "C" fn mw_abi_version() -> u32 {
    MW_ABI_VERSION
}

/// The version of Maskwright, such as "0.1.0". Not to be freed. May be called from any thread.
#[unsafe(no_mangle)]
pub extern "C" fn mw_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Frees a text that a function of this header has returned; NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_text_free(text: *mut c_char) {
    // SAFETY: the caller's promise.
    unsafe { pointers::free_text(text) };
}
