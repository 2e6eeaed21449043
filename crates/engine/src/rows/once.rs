//! Values that are made once per key, outside of any lock.
//!
//! A thread that asks for a value in the making waits for that value only, and looks for signals and
//! cancellation meanwhile. If the maker fails or panics, one of the waiting threads makes the value instead.
//! Values that do not fit the limit on memory are dropped, the least used first, and made anew when they are
//! asked for.

use std::hash::Hash;
use std::time::Duration;

use maskwright_automata::{Fuel, FuelError};
use quick_cache::sync::{Cache, DefaultLifecycle, GuardResult};
use quick_cache::{OptionsBuilder, Weighter};
use rustc_hash::FxBuildHasher;

/// How often a waiting caller looks for signals.
const WAIT: Duration = Duration::from_millis(10);
/// How many values there usually are.
const USUAL_VALUES: usize = 1_024;

/// A value that knows its size in bytes.
pub(crate) trait Weigh {
    fn weight(&self) -> usize;
}

/// A value, and its size when it came into the cache: the cache relies on a size that stays, and values may
/// grow.
#[derive(Clone)]
struct Weighed<V> {
    value: V,
    weight: u64,
}

impl<V: Weigh> Weighed<V> {
    fn new(value: V) -> Weighed<V> {
        // Values without weight would never be dropped.
        let weight = value.weight().max(1) as u64;
        Weighed { value, weight }
    }
}

#[derive(Clone)]
struct ByMemory;

impl<K, V> Weighter<K, Weighed<V>> for ByMemory {
    fn weight(&self, _: &K, value: &Weighed<V>) -> u64 {
        value.weight
    }
}

/// A cache whose values are made once per key.
pub(crate) struct OncePerKey<K, V>(Cache<K, Weighed<V>, ByMemory, FxBuildHasher>);

impl<K: Hash + Eq + Clone, V: Weigh + Clone> OncePerKey<K, V> {
    /// A cache of about `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> OncePerKey<K, V> {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(USUAL_VALUES)
            .weight_capacity(max_bytes as u64)
            .shards(4)
            .build()
            .expect("all that has no default is set");
        OncePerKey(Cache::with_options(options, ByMemory, FxBuildHasher, DefaultLifecycle::default()))
    }

    /// The value of `key`, if it is there.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.0.get(key).map(|known| known.value)
    }

    /// The value of `key`, made by `make` if it is missing and no other thread is making it. `make` may ask
    /// for values of other keys, but not of those that ask for this one. Where another thread makes the
    /// value, `fuel` looks while this one waits; `make` must not let it look.
    ///
    /// # Errors
    /// What `make` gives, or if the work was cancelled meanwhile.
    pub(crate) fn get_or_make<E: From<FuelError>>(
        &self,
        key: &K,
        fuel: Option<&Fuel>,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        loop {
            match self.0.get_value_or_guard(key, Some(WAIT)) {
                GuardResult::Value(known) => return Ok(known.value),
                GuardResult::Guard(guard) => {
                    let value = make()?;
                    // It is not kept if the cache was emptied meanwhile.
                    let _ = guard.insert(Weighed::new(value.clone()));
                    return Ok(value);
                }
                GuardResult::Timeout => fuel.map_or(Ok(()), Fuel::look_now)?,
            }
        }
    }

    /// Adds a value that was made elsewhere; whether there was none. `None` if there is no room for it.
    pub(crate) fn add(&self, key: K, value: V) -> Option<bool> {
        if self.0.contains_key(&key) {
            return Some(false);
        }
        let weighed = Weighed::new(value);
        if self.0.weight() + weighed.weight > self.0.capacity() {
            return None;
        }
        self.0.insert(key.clone(), weighed);
        // It may be too much for its part of the cache.
        self.0.contains_key(&key).then_some(true)
    }

    /// All that are there.
    pub(crate) fn all(&self) -> Vec<(K, V)> {
        self.0.iter().map(|(key, known)| (key, known.value)).collect()
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// Approximate memory of the values, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.0.weight() as usize
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use maskwright_automata::CancelToken;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Heavy(u32, usize);

    impl Weigh for Heavy {
        fn weight(&self) -> usize {
            self.1
        }
    }

    fn cache() -> OncePerKey<u32, Heavy> {
        OncePerKey::new(1 << 20)
    }

    type Made = Result<Heavy, FuelError>;

    #[test]
    fn a_value_is_made_once_however_many_ask() {
        let (cache, n_made, all) = (cache(), AtomicUsize::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    all.wait();
                    let made: Made = cache.get_or_make(&7, None, || {
                        n_made.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(50));
                        Ok(Heavy(7, 10))
                    });
                    assert_eq!(made, Ok(Heavy(7, 10)));
                });
            }
        });
        assert_eq!(n_made.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn other_keys_do_not_wait() {
        let (cache, both) = (cache(), Barrier::new(2));
        thread::scope(|scope| {
            for key in 0..2 {
                let (cache, both) = (&cache, &both);
                scope.spawn(move || {
                    // Ends only if both are made at the same time.
                    let made: Made = cache.get_or_make(&key, None, || {
                        both.wait();
                        Ok(Heavy(key, 10))
                    });
                    assert!(made.is_ok());
                });
            }
        });
    }

    /// The result of a thread that waits while the maker does `fails`.
    fn after(fails: impl FnOnce() -> Made + Send) -> Made {
        let (cache, is_making) = (cache(), Barrier::new(2));
        thread::scope(|scope| {
            let (cache, is_making) = (&cache, &is_making);
            let maker = scope.spawn(move || {
                cache.get_or_make(&7, None, || {
                    is_making.wait();
                    thread::sleep(Duration::from_millis(30));
                    fails()
                })
            });
            is_making.wait();
            let second = cache.get_or_make(&7, None, || Ok(Heavy(8, 10)));
            let _ = maker.join();
            second
        })
    }

    #[test]
    fn a_maker_that_fails_or_panics_is_replaced() {
        assert_eq!(after(|| Err(FuelError::Exhausted { limit: 1 })), Ok(Heavy(8, 10)));
        assert_eq!(after(|| panic!("while making")), Ok(Heavy(8, 10)));
        assert_eq!(after(|| Ok(Heavy(9, 10))), Ok(Heavy(9, 10)));
    }

    #[test]
    fn who_waits_can_be_cancelled() {
        let (cache, is_making, is_over) = (cache(), Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let made: Made = cache.get_or_make(&7, None, || {
                    is_making.wait();
                    is_over.wait();
                    Ok(Heavy(7, 10))
                });
                assert!(made.is_ok());
            });
            is_making.wait();
            let token = CancelToken::new();
            let fuel = Fuel::unlimited().with_cancel(token.watching(|| true));
            let waited: Made = cache.get_or_make(&7, Some(&fuel), || Ok(Heavy(8, 10)));
            assert_eq!(waited, Err(FuelError::Cancelled));
            is_over.wait();
        });
    }

    #[test]
    fn values_may_grow() {
        #[derive(Clone)]
        struct Growing(Arc<AtomicUsize>);
        impl Weigh for Growing {
            fn weight(&self) -> usize {
                self.0.load(Ordering::Relaxed)
            }
        }
        let cache: OncePerKey<u32, Growing> = OncePerKey::new(1_000);
        for key in 0..200 {
            let made = cache.get_or_make::<FuelError>(&key, None, || Ok(Growing(Arc::new(10.into()))));
            made.unwrap().0.store(1_000_000, Ordering::Relaxed);
            assert!(cache.memory_usage() <= 1_000, "counted as they were");
        }
        assert!(cache.all().len() > 50, "and not all dropped");
    }

    #[test]
    fn memory_is_limited() {
        let cache: OncePerKey<u32, Heavy> = OncePerKey::new(1_000);
        for key in 0..100 {
            let made: Made = cache.get_or_make(&key, None, || Ok(Heavy(key, 90)));
            assert_eq!(made, Ok(Heavy(key, 90)));
            assert!(cache.memory_usage() <= 1_000);
        }
        let made: Made = cache.get_or_make(&1_000, None, || Ok(Heavy(1_000, 5_000)));
        assert_eq!(made, Ok(Heavy(1_000, 5_000)), "what does not fit is given all the same");
        assert!(cache.memory_usage() <= 1_000);
    }
}
