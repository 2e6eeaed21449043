//! The Python package of Maskwright.
