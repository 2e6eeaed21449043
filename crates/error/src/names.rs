//! Names that are misspelt: which known one was probably meant. All "did you mean" hints use this.

use strsim::osa_distance;

/// The longest name that is compared, in bytes: comparing takes the product of the lengths.
const MAX_COMPARED: usize = 64;

/// The one of `known` that `given` was probably meant to be, and how many letters are different; `None` if
/// more than a third of them are. Case, spaces, hyphens and the like count for nothing. Of equally near ones
/// the first.
///
/// Takes time in the product of the lengths, for each name of at most 64 bytes; longer ones are not compared.
///
/// ```
/// use maskwright_error::nearest_name;
/// assert_eq!(nearest_name("pyton", ["json", "python"]), Some((1, "python")));
/// assert_eq!(nearest_name("lisp", ["json", "python"]), None);
/// ```
pub fn nearest_name<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    if given.len() > MAX_COMPARED {
        return None;
    }
    let plain = |name: &str| -> String {
        name.chars().filter(|c| !"_-$ ".contains(*c)).map(|c| c.to_ascii_lowercase()).collect()
    };
    let plain_given = plain(given);
    known
        .into_iter()
        .filter(|name| name.len() <= MAX_COMPARED && *name != given)
        .map(|name| (osa_distance(&plain_given, &plain(name)), name))
        .filter(|&(distance, name)| distance <= (given.len().max(name.len()) / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_meant() {
        let meant = |given| nearest_name(given, ["start", "value", "_NL", "member"]).map(|(_, name)| name);
        assert_eq!(meant("valu"), Some("value"));
        assert_eq!(meant("Members"), Some("member"));
        assert_eq!(meant("NL"), Some("_NL"));
        assert_eq!(meant("satrt"), Some("start"));
        assert_eq!(meant("value"), None, "a name is no misspelling of itself");
        assert_eq!(meant("number"), Some("member"), "a third may differ");
        assert_eq!(meant("list"), None);
        assert_eq!(meant(&"value".repeat(100_000)), None);
    }
}
