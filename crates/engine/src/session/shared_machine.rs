//! The machine of a grammar, shared by its sessions behind a lock.
//!
//! The lock is held while tables are read and filled, not while rows are made or words are searched for: such
//! work is asked for by an error ([`EngineError::into_search`](crate::EngineError::into_search)) or
//! beforehand ([`Machine::wanted`]), and done by the session without the lock.

use std::ops::{Deref, DerefMut};

use parking_lot::{Mutex, MutexGuard};

use super::machine::Machine;
use super::state::State;
use crate::EngineError;
use crate::ground::{MANY, NEVER, TokenCountStatus};
use crate::parser::Effort;

/// A machine that many sessions use.
pub(crate) struct SharedMachine {
    start: State,
    machine: Mutex<Machine>,
}

impl SharedMachine {
    pub(crate) fn new(mut machine: Machine) -> SharedMachine {
        machine.count();
        let within = machine.reader.start();
        // A limit on threads that this would reach is reached before.
        let config = machine.reader.begin_token(within).unwrap_or(within);
        let start = State::start(config, within, machine.watch_start());
        SharedMachine { start, machine: Mutex::new(machine) }
    }

    /// The state before any text.
    pub(crate) fn start(&self) -> &State {
        &self.start
    }

    /// Asks the machine, which other sessions have between two calls of `ask`. Where it says that a search
    /// for a word is needed, makes that and asks again.
    ///
    /// # Errors
    /// What `ask` gives.
    pub(crate) fn ask<T>(
        &self,
        mut ask: impl FnMut(&mut Machine) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        loop {
            let answer = ask(&mut self.lock());
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error.into_search()?.make()?,
            }
        }
    }

    /// Whether tokens can complete some text, however many; `None` if that is not found out.
    ///
    /// # Errors
    /// If a limit is reached before that is decided.
    pub(crate) fn has_completion(&self) -> Result<Option<bool>, EngineError> {
        if self.ask(|machine| machine.fits(&self.start, MANY))? == Some(true) {
            return Ok(Some(true));
        }
        Ok(match self.ask(|machine| machine.least_at(&self.start))? {
            (NEVER, TokenCountStatus::Exact) => Some(false),
            (MANY.., _) => None,
            _ => Some(true),
        })
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
        if self.machine.reader.parser().effort == Effort::Full {
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
