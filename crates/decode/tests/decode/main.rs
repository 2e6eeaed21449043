//! The decoding loop and the healed prefix against small languages whose answers can be enumerated.

mod generate;
mod prefix;
mod support;
