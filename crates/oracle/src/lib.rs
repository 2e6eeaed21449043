//! Naive reference implementations that decide masks on small cases; for tests only.
