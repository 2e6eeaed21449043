//! `format`, asserted: each format is a regular language of whole strings.
//!
//! Expressions are built from the grammars of the RFCs, once per process when first asked for, so that all
//! compilations share them. They speak of unescaped characters and are intersected with `pattern` and lengths
//! like any other language.
//!
//! Three formats are not regular and are therefore narrower than their specification, never wider: host names
//! leave out A-labels (`xn--…`, Punycode) but in the drafts up to 6, which take any; internationalised ones
//! keep to labels whose A-label is short enough in any case ([`idn`]); `regex` nests groups five deep at
//! most. Every other one is exact. Leap seconds are taken where they are 23:59:60 UTC, on any day.

mod build;
mod host;
mod idn;
mod internet;
mod pointer;
mod regex;
mod template;
mod time;
mod uri;

use std::sync::OnceLock;

use maskwright_automata::Regex;

use crate::source::draft::Draft;
use crate::strings::escape::{is_spelled_plainly, spell};

/// A format the specification defines.
struct Format {
    names: &'static [&'static str],
    build: fn() -> Regex,
    /// Its language, and that of its spellings in JSON text.
    languages: OnceLock<(Regex, Regex)>,
}

const fn format(names: &'static [&'static str], build: fn() -> Regex) -> Format {
    Format { names, build, languages: OnceLock::new() }
}

static FORMATS: [Format; 19] = [
    format(&["date-time"], || time::DATE_TIME.clone()),
    format(&["uri"], || uri::URI.clone()),
    format(&["date"], || time::DATE.clone()),
    format(&["email"], || internet::EMAIL.clone()),
    format(&["uuid"], || internet::UUID.clone()),
    // Drafts 3 and 4 spell some names in another way.
    format(&["ipv4", "ip-address"], || internet::IPV4.clone()),
    format(&["ipv6"], || internet::IPV6.clone()),
    format(&["hostname", "host-name"], || host::HOSTNAME.clone()),
    format(&["time"], || time::TIME.clone()),
    format(&["duration"], || time::DURATION.clone()),
    format(&["uri-reference"], || uri::URI_REFERENCE.clone()),
    format(&["uri-template"], || template::URI_TEMPLATE.clone()),
    format(&["iri"], || uri::IRI.clone()),
    format(&["iri-reference"], || uri::IRI_REFERENCE.clone()),
    format(&["idn-email"], || internet::IDN_EMAIL.clone()),
    format(&["idn-hostname"], || host::IDN_HOSTNAME.clone()),
    format(&["json-pointer"], || pointer::JSON_POINTER.clone()),
    format(&["relative-json-pointer"], || pointer::RELATIVE_JSON_POINTER.clone()),
    format(&["regex"], || regex::REGEX.clone()),
];

/// `hostname` of the drafts up to 6.
static OLD_HOSTNAME: Format = format(&["hostname", "host-name"], || host::OLD_HOSTNAME.clone());

/// The language of a format in a draft; `None` if the specification does not define it.
pub(crate) fn language(name: &str, draft: Draft) -> Option<Regex> {
    let old = Some(&OLD_HOSTNAME).filter(|_| draft <= Draft::Draft6);
    let format = old.into_iter().chain(&FORMATS).find(|format| format.names.contains(&name))?;
    let languages = format.languages.get_or_init(|| {
        let language = (format.build)();
        // Rebuilding the larger ones would cost as much as building them.
        let spelled = if is_spelled_plainly(&language) { language.clone() } else { spell(&language) };
        (language, spelled)
    });
    Some(languages.0.clone())
}

/// The formats that are known, by name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.names.iter().copied())
}

/// The spellings of `language`, if it is that of a format.
pub(crate) fn spelled(language: &Regex) -> Option<Regex> {
    FORMATS
        .iter()
        .chain([&OLD_HOSTNAME])
        .filter_map(|format| format.languages.get())
        .find(|(known, _)| known.ptr_eq(language))
        .map(|(_, spelled)| spelled.clone())
}
