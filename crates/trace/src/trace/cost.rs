//! What the grammar cost: how much probability it cut off.

use super::{Step, Trace};

impl Step {
    /// The probability that the grammar cut off at this token, in nats: the negative natural logarithm of the
    /// [`allowed_mass`](Self::allowed_mass).
    ///
    /// It is 0 if the model gave all its probability to allowed tokens, and infinite if it gave them none.
    /// `None` if that was not measured, which is usual for forced tokens.
    #[must_use]
    pub fn cost_nats(&self) -> Option<f64> {
        let mass = probability(self.allowed_mass?)?;
        // Not negated: the cost of 1 is 0, not -0.
        Some(0.0 - mass.ln())
    }
}

impl Trace {
    /// The sum of the steps' [costs](Step::cost_nats), of those that were measured; `None` if none was.
    ///
    /// A model that writes freely stays inside the grammar at all of these steps with the probability
    /// e<sup>-cost</sup>.
    #[must_use]
    pub fn cost_nats(&self) -> Option<f64> {
        self.steps.iter().filter_map(Step::cost_nats).reduce(|sum, cost| sum + cost)
    }

    /// How many tokens were forced.
    pub(crate) fn n_forced(&self) -> usize {
        self.steps.iter().filter(|step| step.is_forced).count()
    }
}

/// A measured value as a probability: rounding errors beyond 0 and 1 are cut, and what is not finite was not
/// measured.
pub(crate) fn probability(value: f64) -> Option<f64> {
    // The sum turns -0 into 0.
    value.is_finite().then(|| value.clamp(0.0, 1.0) + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_mass(allowed_mass: f64) -> Step {
        Step { allowed_mass: Some(allowed_mass), ..Step::default() }
    }

    #[test]
    fn costs_are_never_negative_or_nan() {
        assert_eq!(with_mass(f64::NAN).cost_nats(), None);
        assert_eq!(with_mass(f64::INFINITY).cost_nats(), None);
        assert_eq!(with_mass(0.0).cost_nats(), Some(f64::INFINITY));
        assert_eq!(with_mass(-0.0).cost_nats(), Some(f64::INFINITY));
        assert_eq!(with_mass(-1e-9).cost_nats(), Some(f64::INFINITY));
        let whole = with_mass(1.0 + 1e-9).cost_nats().unwrap();
        assert!(whole == 0.0 && whole.is_sign_positive());
    }

    #[test]
    fn only_measured_steps_count() {
        let steps = vec![with_mass(0.5), Step { is_forced: true, ..Step::default() }, with_mass(0.5)];
        let trace = Trace { steps, ..Trace::default() };
        assert!((trace.cost_nats().unwrap() - 0.25_f64.ln().abs()).abs() < 1e-12);
        assert_eq!(trace.n_forced(), 1);
        assert_eq!(Trace::default().cost_nats(), None);
    }
}
