//! The machine of a grammar, shared by its sessions behind a lock.
//!
//! The lock is held while tables are read and filled, not while rows are made or words are searched for: such
//! work is asked for by an error ([`EngineError::into_search`](crate::EngineError::into_search)) or beforehand
//! ([`Machine::wanted`]), and done by the session without the lock.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use maskwright_grammar::Watching;
use parking_lot::{Mutex, MutexGuard};

use super::machine::Machine;
use crate::parser::{ConfigId, Effort};

/// A machine that many sessions use.
pub(crate) struct SharedMachine {
    start: ConfigId,
    /// Where a first token begins.
    token_start: ConfigId,
    watching: Option<Arc<dyn Watching>>,
    machine: Mutex<Machine>,
}

impl SharedMachine {
    pub(crate) fn new(mut machine: Machine) -> SharedMachine {
        machine.count();
        let start = machine.start();
        SharedMachine {
            start,
            // A limit on threads that this would reach is reached before.
            token_start: machine.begin_token(start).unwrap_or(start),
            watching: machine.watch_start(),
            machine: Mutex::new(machine),
        }
    }

    /// The configuration before any text.
    pub(crate) fn start(&self) -> ConfigId {
        self.start
    }

    /// The configuration that a first token begins at.
    pub(crate) fn token_start(&self) -> ConfigId {
        self.token_start
    }

    /// What the grammar's watch knows before any text, if it has one.
    pub(crate) fn watching(&self) -> Option<&Arc<dyn Watching>> {
        self.watching.as_ref()
    }

    /// Waits for the machine.
    pub(crate) fn lock(&self) -> MachineGuard<'_> {
        MachineGuard::new(self.machine.lock(), Effort::Full)
    }

    /// The machine if nobody has it.
    pub(crate) fn try_lock(&self) -> Option<MachineGuard<'_>> {
        Some(MachineGuard::new(self.machine.try_lock()?, Effort::Full))
    }

    /// The machine if nobody has it, for questions whose answers are known: others fail with
    /// [`EngineError::is_postponed`](crate::EngineError::is_postponed).
    pub(crate) fn try_lock_known(&self) -> Option<MachineGuard<'_>> {
        Some(MachineGuard::new(self.machine.try_lock()?, Effort::Known))
    }
}

/// A locked machine. After a panic it is made usable again before others have it.
pub(crate) struct MachineGuard<'a> {
    machine: MutexGuard<'a, Machine>,
    was_panicking: bool,
}

impl<'a> MachineGuard<'a> {
    fn new(mut machine: MutexGuard<'a, Machine>, effort: Effort) -> MachineGuard<'a> {
        machine.reader.parser_mut().effort = effort;
        MachineGuard { machine, was_panicking: std::thread::panicking() }
    }
}

impl Drop for MachineGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.machine.recover();
        }
        // Who only looks something up adds nothing.
        if self.machine.parser().effort == Effort::Full {
            self.machine.count_at_times();
        }
    }
}

impl Deref for MachineGuard<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}

impl DerefMut for MachineGuard<'_> {
    fn deref_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }
}
