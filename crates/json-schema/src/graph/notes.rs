//! What the stages say about a schema: errors, the report, contradictions.

use std::borrow::Cow;

use crate::SchemaError;
use crate::error::Kind;
use crate::forms::shape::Shape;
use crate::graph::Graph;
use crate::lenient::affected::report_affected;
use crate::report::order::sort_entries;
use crate::report::{self, Entry, Place, PlaceId, Status};

/// How many contradictions are remembered.
const MAX_CONFLICTS: usize = 16;

impl<'a> Graph<'a> {
    /// Pays for work on the schema at `place`.
    pub(crate) fn spend(&self, place: PlaceId, units: u64) -> Result<(), SchemaError> {
        self.fuel.spend(units).map_err(|error| self.error(place, None, Kind::Fuel(error)))
    }

    /// Pays for work that is done. If the supply does not suffice, the next call of [`spend`](Graph::spend)
    /// fails.
    pub(crate) fn charge(&self, units: u64) {
        // What was taken counts either way.
        let _ = self.fuel.spend_unwatched(units);
    }

    /// An error about `keyword` of the schema at `place`.
    pub(crate) fn error(&self, place: PlaceId, keyword: Option<&'static str>, kind: Kind) -> SchemaError {
        SchemaError::new(report::pointer(&self.found.places, place), keyword, kind)
    }

    /// Refuses a form with more alternatives than the limit.
    pub(crate) fn check_alternatives(&self, shape: &Shape<'a>, place: PlaceId) -> Result<(), SchemaError> {
        let limit = self.config.limits.max_alternatives;
        if shape.n_alternatives() <= limit {
            return Ok(());
        }
        let message = format!("multiplied out, the alternatives are more than the limit of {limit}");
        Err(self.error(place, None, Kind::Limit { message }))
    }

    /// The error for a divisor whose automaton is too large.
    pub(crate) fn too_many_remainders(&self, place: PlaceId) -> SchemaError {
        let max_states = self.config.limits.max_remainders;
        let message = format!("the remainders by this divisor take more than {max_states} states");
        self.error(place, Some("multipleOf"), Kind::Limit { message })
    }

    /// Notes that a keyword is enforced.
    pub(crate) fn note(&mut self, place: PlaceId, keyword: &'static str) {
        self.enter(place, keyword, Status::Enforced);
    }

    pub(super) fn enter(&mut self, place: PlaceId, keyword: &'a str, status: Status) {
        self.found.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status });
    }

    /// Notes a keyword that sessions enforce.
    pub(crate) fn note_session(&mut self, place: PlaceId, keyword: &'static str) {
        self.enter(place, keyword, Status::EnforcedBySession);
    }

    /// Notes a keyword that the specification does not know.
    pub(crate) fn note_annotation(&mut self, place: PlaceId, keyword: &'a str) {
        self.enter(place, keyword, Status::Annotation);
    }

    /// Notes a format that the specification does not define.
    pub(crate) fn note_unknown_format(&mut self, place: PlaceId, format: Option<&'a str>) {
        self.note_annotation(place, "format");
        self.found.unknown_formats.extend(format.map(|name| (place, name)));
    }

    /// A keyword that is not enforced: an error where everything must be, else noted.
    pub(crate) fn refuse(
        &mut self,
        place: PlaceId,
        keyword: &'static str,
        reason: impl Into<Cow<'static, str>>,
    ) -> Result<(), SchemaError> {
        let reason = reason.into();
        if self.loose.is_none() {
            return Err(self.error(place, Some(keyword), Kind::Unsupported { message: reason.into_owned() }));
        }
        self.enter(place, keyword, Status::NotEnforced { reason });
        Ok(())
    }

    /// Notes that keys of the objects at a place may repeat, since sessions do not watch the style.
    pub(crate) fn note_repeated_keys(&mut self, place: PlaceId) {
        if self.found.repeated_keys.insert(place) {
            let reason =
                "a key that the schema does not name may occur twice: sessions watch the keys of JSON only";
            self.enter(place, "additionalProperties", Status::NotEnforced { reason: reason.into() });
        }
    }

    /// Remembers a contradiction, up to a limit.
    pub(crate) fn note_conflict(
        &mut self,
        place: PlaceId,
        keyword: &'static str,
        message: impl FnOnce() -> String,
    ) {
        if self.found.conflicts.len() < MAX_CONFLICTS {
            self.found.conflicts.push((place, keyword, message()));
        }
    }

    /// Remembers that a property is required and cannot be there, or (`""`) that the number of members is
    /// contradictory.
    pub(crate) fn note_missing(&mut self, place: PlaceId, name: &str) {
        match name {
            "" => self.note_conflict(place, "minProperties", || {
                "no number of properties is allowed by all bounds".into()
            }),
            name => self.note_conflict(place, "required", || {
                format!("the property \"{name}\" is required, but the schema allows no value for it")
            }),
        }
    }

    /// The report of everything noted, in the order of the schema's text.
    pub(crate) fn into_report(mut self) -> report::Report {
        report_affected(&mut self);
        sort_entries(&mut self);
        report::Report {
            unknown_formats: self
                .found
                .unknown_formats
                .into_iter()
                .map(|(place, name)| (place, name.into()))
                .collect(),
            places: self.found.places.iter().map(Place::to_owned).collect(),
            entries: self
                .found
                .entries
                .into_iter()
                .map(|entry| Entry {
                    place: entry.place,
                    keyword: entry.keyword.into(),
                    status: entry.status,
                })
                .collect(),
            tools: std::collections::HashMap::default(),
        }
    }
}
