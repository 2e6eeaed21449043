//! Long searches on shared residues, in slices.
//!
//! A search for a word may take tenths of a second. It works on residues that all threads share under one
//! lock, so the search is cut into slices. Between two slices the lock is free, and the caller's [`Fuel`]
//! looks for signals and cancellation, which may call foreign code. A search holds ids of nodes only, and
//! nodes are never removed, so what others do in a pause does not matter to it.

use crate::arena::NodeId;
use crate::liveness::Residues;
use crate::{Fuel, FuelError};

/// Residues, locked or owned.
pub(crate) trait Access {
    /// The residues, until the next pause.
    fn residues(&mut self) -> &mut Residues;

    /// Lets threads that wait have the residues, and lets `fuel` look, without the lock.
    ///
    /// # Errors
    /// If the work was cancelled.
    fn pause(&mut self, fuel: Option<&Fuel>) -> Result<(), FuelError>;

    /// Waits until no other thread searches for a word of `node`, and claims the search. One claim at a time.
    ///
    /// # Errors
    /// If the work was cancelled.
    fn claim(&mut self, node: NodeId, fuel: Option<&Fuel>) -> Result<(), FuelError>;

    /// Gives the claim up.
    fn release(&mut self);
}

/// Residues that nobody else uses, or work too short for pauses.
impl Access for Residues {
    fn residues(&mut self) -> &mut Residues {
        self
    }

    fn pause(&mut self, _: Option<&Fuel>) -> Result<(), FuelError> {
        Ok(())
    }

    fn claim(&mut self, _: NodeId, _: Option<&Fuel>) -> Result<(), FuelError> {
        Ok(())
    }

    fn release(&mut self) {}
}
