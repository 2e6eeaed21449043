//! Networks, files, fetching: on tiny models made here, and on a trained one where it is at hand.

mod broken_files;
mod fetching;
mod naive;
mod network;
mod requantize;
mod tiny;
mod trained;
