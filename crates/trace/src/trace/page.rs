//! The page: one file with its styles, its script and its data.

use serde_json::to_string;

use super::Trace;
use super::page_data::PageData;
use super::shown::visible;

/// The page without its parts. A part's place is its name in two pairs of braces.
const TEMPLATE: &str = include_str!("page/page.html");

/// The parts of the script, in the order in which they run.
const SCRIPTS: [&str; 6] = [
    include_str!("page/page.js"),
    include_str!("page/text.js"),
    include_str!("page/details.js"),
    include_str!("page/canvas.js"),
    include_str!("page/search.js"),
    include_str!("page/start.js"),
];

impl Trace {
    /// The trace as a page for a browser.
    ///
    /// The page is one file that loads nothing and works offline. Texts of the trace cannot run there: its
    /// security policy forbids all but its own script, which writes texts as texts only. Without scripts it
    /// is the [plain text](Self::to_text), without the tree of a search.
    ///
    /// Its size is about 50 KB, 500 bytes for each token with ten candidates, and 100 bytes for each branch.
    ///
    /// # Examples
    /// ```
    /// use maskwright_trace::{Step, Trace};
    /// let step = Step { text: b"</script><img src=x>".to_vec(), ..Step::default() };
    /// let page = Trace { title: "Hostile".to_owned(), steps: vec![step], ..Trace::default() }.html();
    /// assert!(!page.contains("<img"));
    /// ```
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = String::new();
        for part in TEMPLATE.split("{{") {
            let Some((name, rest)) = part.split_once("}}") else {
                page.push_str(part);
                continue;
            };
            match name {
                "title" => page.push_str(&escape_html(&visible(&self.title))),
                "style" => page.push_str(include_str!("page/page.css")),
                "script" => SCRIPTS.iter().for_each(|script| page.push_str(script)),
                "data" => page.push_str(&data(self)),
                // The page draws the tree, which is long as text.
                "plain" => page.push_str(&escape_html(&self.text_without_tree())),
                _ => {}
            }
            page.push_str(rest);
        }
        page
    }
}

/// The data as JSON that cannot end its script element or begin a comment.
fn data(trace: &Trace) -> String {
    let json = to_string(&PageData::of(trace)).expect("strings, finite numbers and lists of them are JSON");
    // In JSON these characters stand in strings only.
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A text as HTML, also between quotes.
///
/// ```
/// assert_eq!(maskwright_trace::escape_html("a < \"b\""), "a &lt; &quot;b&quot;");
/// ```
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
