//! Pointers of C as references, and objects that C holds.

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;

use maskwright::{Error, TokenId};

use crate::guard::argument;

/// A type that C knows by name only.
pub(crate) trait Opaque {
    /// The type of the object.
    type Inner: Send;
    /// What messages call it.
    const NAME: &'static str;
}

/// An object of C in memory. Every one begins with a number for its type, so that a handle of another type is
/// told from the right one.
#[repr(C)]
struct Handle<T> {
    tag: u64,
    value: T,
}

/// The number of a type, made of its name (FNV-1a).
const fn tag<O: Opaque>() -> u64 {
    let (name, mut tag, mut at) = (O::NAME.as_bytes(), 0xcbf2_9ce4_8422_2325_u64, 0);
    while at < name.len() {
        tag = (tag ^ name[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    tag
}

/// Gives an object to C, which must free it.
pub(crate) fn give<O: Opaque>(value: O::Inner) -> *mut O {
    Box::into_raw(Box::new(Handle { tag: tag::<O>(), value })).cast()
}

/// The handle behind a pointer.
///
/// # Safety
/// The pointer is NULL or one that [`give`] returned, of whatever type, and nobody has freed it.
unsafe fn handle<O: Opaque>(pointer: *const O) -> Result<*mut Handle<O::Inner>, Error> {
    let handle = pointer.cast::<Handle<O::Inner>>().cast_mut();
    if handle.is_null() {
        return Err(argument(format!("the {} is NULL", O::NAME)));
    }
    // SAFETY: all handles begin with the number, and what is aligned as this one is aligned for it.
    if !handle.is_aligned() || unsafe { *pointer.cast::<u64>() } != tag::<O>() {
        return Err(argument(format!("the pointer is not to a {}", O::NAME)));
    }
    Ok(handle)
}

/// The object behind a pointer, which several threads may read at once.
///
/// # Safety
/// As [`handle`], and nobody changes the object while the reference lives.
pub(crate) unsafe fn get<'a, O: Opaque<Inner: Sync>>(pointer: *const O) -> Result<&'a O::Inner, Error> {
    // SAFETY: the caller's promise; the handle has the type that its name says.
    unsafe { handle(pointer).map(|handle| &(*handle).value) }
}

/// The object behind a pointer, to change it.
///
/// # Safety
/// As [`handle`], and nobody else uses the object while the reference lives.
pub(crate) unsafe fn get_mut<'a, O: Opaque>(pointer: *mut O) -> Result<&'a mut O::Inner, Error> {
    // SAFETY: as for `get`.
    unsafe { handle(pointer).map(|handle| &mut (*handle).value) }
}

/// Frees an object. NULL, and an object of another type, stay as they are.
///
/// # Safety
/// As [`handle`], and nobody uses the object any more.
pub(crate) unsafe fn free<O: Opaque>(pointer: *mut O) {
    // SAFETY: the caller's promise.
    if let Ok(handle) = unsafe { handle(pointer) } {
        // SAFETY: `give` made it of a box of this type, and nobody has freed it.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// The text that a pointer leads to.
///
/// # Safety
/// The pointer is NULL or leads to bytes that end with a NUL and that nobody changes while the text lives.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Error> {
    // SAFETY: the caller's promise.
    unsafe { optional_text(pointer, what) }?.ok_or_else(|| argument(format!("{what} is NULL")))
}

/// The same where NULL is no text.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn optional_text<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>, Error> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not NULL, and the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|error| argument(format!("{what} is not UTF-8: {error}")))
}

/// The `n` items that a pointer leads to. NULL leads to none.
///
/// # Safety
/// The pointer is NULL or leads to `n` items that nobody changes while the slice lives.
pub(crate) unsafe fn items<'a, T>(pointer: *const T, n: usize, what: &str) -> Result<&'a [T], Error> {
    if n == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || !pointer.is_aligned() || n > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(argument(format!("{what}: no pointer to {n} of them")));
    }
    // SAFETY: it is not NULL, aligned and no longer than memory can be, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, n) })
}

/// Tokens that stand one after the other, from the length of each.
///
/// # Safety
/// As [`items`] for both: `n` lengths, and as many bytes as they say.
#[cfg(any(feature = "native", feature = "llguidance"))]
pub(crate) unsafe fn tokens(bytes: *const u8, lengths: *const u32, n: usize) -> Result<Vec<Vec<u8>>, Error> {
    // SAFETY: the caller's promise.
    let lengths = unsafe { items(lengths, n, "the lengths of tokens") }?;
    let n_bytes = lengths.iter().map(|&length| length as usize).sum();
    // SAFETY: as above.
    let mut bytes = unsafe { items(bytes, n_bytes, "the bytes of tokens") }?;
    let mut tokens = Vec::with_capacity(n);
    for &length in lengths {
        let (token, rest) = bytes.split_at(length as usize);
        tokens.push(token.to_vec());
        bytes = rest;
    }
    Ok(tokens)
}

/// The `n` items that a pointer leads to, to be written.
///
/// # Safety
/// The pointer is NULL or leads to `n` items that nobody else uses while the slice lives.
pub(crate) unsafe fn items_mut<'a, T>(pointer: *mut T, n: usize, what: &str) -> Result<&'a mut [T], Error> {
    // SAFETY: what `items` checks is the same.
    unsafe { items(pointer.cast_const(), n, what) }?;
    if n == 0 {
        return Ok(&mut []);
    }
    // SAFETY: `items` has checked it, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, n) })
}

/// Where a result goes. Ask for it before the work is done: a call that fails changes nothing.
///
/// # Safety
/// The pointer is NULL or leads to memory for one value, which nobody else uses while the reference lives.
pub(crate) unsafe fn place<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut MaybeUninit<T>, Error> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(argument(format!("{what} is NULL")));
    }
    // SAFETY: it is not NULL, aligned, and the caller's promise.
    Ok(unsafe { &mut *pointer.cast::<MaybeUninit<T>>() })
}

/// Writes a result.
///
/// # Safety
/// As [`place`].
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T, what: &str) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { place(pointer, what) }?.write(value);
    Ok(())
}

/// Writes NULL where a result goes that C would free, so that a call that fails leaves nothing to free there.
///
/// # Safety
/// As [`place`]; NULL is left alone.
pub(crate) unsafe fn clear<T>(pointer: *mut *mut T) {
    // SAFETY: the caller's promise.
    if let Ok(place) = unsafe { place(pointer, "") } {
        place.write(std::ptr::null_mut());
    }
}

/// Gives an object to C, where the pointer says. Without a place the object is dropped.
///
/// # Safety
/// As [`place`].
pub(crate) unsafe fn give_to<O: Opaque>(
    pointer: *mut *mut O,
    value: O::Inner,
    what: &str,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { place(pointer, what) }?.write(give(value));
    Ok(())
}

/// Copies tokens to a buffer of C, as many as it can hold. Returns how many there are to copy.
///
/// # Safety
/// The pointer is NULL or leads to `capacity` numbers that nobody else uses.
pub(crate) unsafe fn put_tokens(
    tokens: &[TokenId],
    pointer: *mut u32,
    capacity: usize,
) -> Result<usize, Error> {
    // SAFETY: the caller's promise.
    let buffer = unsafe { items_mut(pointer, if pointer.is_null() { 0 } else { capacity }, "the buffer") }?;
    for (to, token) in buffer.iter_mut().zip(tokens) {
        *to = token.0;
    }
    Ok(tokens.len())
}

/// A text for C; what follows a NUL byte in it is left out.
pub(crate) fn c_text(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).unwrap_or_else(|error| {
        let end = error.nul_position();
        CString::new(&error.into_vec()[..end]).unwrap_or_default()
    })
}

/// Frees a text that [`CString::into_raw`] gave.
///
/// # Safety
/// The pointer is NULL or such a text, which nobody has freed.
pub(crate) unsafe fn free_text(pointer: *mut c_char) {
    if !pointer.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { CString::from_raw(pointer) });
    }
}
