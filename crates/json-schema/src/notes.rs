//! What the stages say about a schema: errors, the report, contradictions.

use std::borrow::Cow;

use crate::SchemaError;
use crate::error::Kind;
use crate::graph::{Graph, PlaceId};
use crate::report::{self, Entry, Place, Status};
use crate::shape::Shape;
use crate::suggest::{self, Unknown};

impl<'a> Graph<'a> {
    /// Pays for work on the schema at `place`.
    pub(crate) fn spend(&self, place: PlaceId, units: u64) -> Result<(), SchemaError> {
        self.fuel.spend(units).map_err(|error| self.error(place, None, Kind::Fuel(error)))
    }

    /// An error about `keyword` of the schema at `place`.
    pub(crate) fn error(&self, place: PlaceId, keyword: Option<&'static str>, kind: Kind) -> SchemaError {
        SchemaError::new(report::pointer(&self.places, place), keyword, kind)
    }

    /// Refuses a form with more alternatives than the limit.
    pub(crate) fn check_alternatives(&self, shape: &Shape<'a>, place: PlaceId) -> Result<(), SchemaError> {
        let limit = self.config.limits.max_alternatives;
        let n = shape.n_alternatives();
        if n <= limit {
            return Ok(());
        }
        let message = format!("multiplied out, the alternatives are {n}, more than the limit of {limit}");
        Err(self.error(place, None, Kind::Limit { message }))
    }

    /// Notes that a keyword is enforced.
    pub(crate) fn note(&mut self, place: PlaceId, keyword: &'static str) {
        self.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status: Status::Enforced });
    }

    /// Notes a keyword that sessions enforce.
    pub(crate) fn note_session(&mut self, place: PlaceId, keyword: &'static str) {
        let status = Status::EnforcedBySession;
        self.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status });
    }

    /// Notes a keyword that the specification does not know.
    pub(crate) fn note_annotation(&mut self, place: PlaceId, keyword: &'a str) {
        self.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status: Status::Annotation });
    }

    /// Notes a keyword that no draft knows.
    pub(crate) fn note_unknown(&mut self, place: PlaceId, keyword: &'a str) {
        self.note_annotation(place, keyword);
        if let Some(suggestion) = suggest::keyword(keyword) {
            let unknown = Unknown { format: None, suggestion: Some(suggestion) };
            self.unknown.insert((place, keyword), unknown);
        }
    }

    /// Notes a format that the specification does not define.
    pub(crate) fn note_unknown_format(&mut self, place: PlaceId, keyword: &'a str, format: Option<&'a str>) {
        self.note_annotation(place, keyword);
        if let Some(name) = format {
            let unknown = Unknown { format, suggestion: suggest::format(name) };
            self.unknown.insert((place, keyword), unknown);
        }
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
        let status = Status::NotEnforced { reason };
        self.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status });
        Ok(())
    }

    /// Remembers a contradiction, unless one is known already.
    pub(crate) fn note_conflict(
        &mut self,
        place: PlaceId,
        keyword: &'static str,
        message: impl FnOnce() -> String,
    ) {
        if self.conflict.is_none() {
            self.conflict = Some((place, keyword, message()));
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
                format!("the property \"{name}\" is required, but no value of it is allowed")
            }),
        }
    }

    /// The error for a schema without any text.
    pub(crate) fn unsatisfiable(&self, root: PlaceId) -> SchemaError {
        match &self.conflict {
            Some((place, keyword, message)) => {
                let message = format!("no value satisfies the schema: {message}");
                self.error(*place, Some(keyword), Kind::Unsatisfiable { message })
            }
            None => {
                let message = "no finite value satisfies it".into();
                self.error(root, None, Kind::Unsatisfiable { message })
            }
        }
    }

    /// `uniqueItems` is noted for each kind of array that it is lowered for: one entry is enough.
    pub(crate) fn settle_unique_items(&mut self) {
        if self.entries.iter().filter(|entry| entry.keyword == "uniqueItems").count() > 1 {
            self.settle_entries();
        }
    }

    /// The report of everything noted, in the order of the schema's text.
    pub(crate) fn into_report(mut self) -> report::Report {
        self.sort_entries();
        let unknown = self.unknown.into_iter().map(|((place, keyword), unknown)| {
            let format = unknown.format.map(Box::from);
            ((place, Box::from(keyword)), Unknown { format, suggestion: unknown.suggestion })
        });
        report::Report {
            unknown: unknown.collect(),
            places: self.places.iter().map(Place::to_owned).collect(),
            entries: self
                .entries
                .into_iter()
                .map(|entry| Entry {
                    place: entry.place,
                    keyword: entry.keyword.into(),
                    status: entry.status,
                })
                .collect(),
        }
    }
}
