//! Families of models as data: how each writes calls of tools.
//!
//! A family is a file in `families/`, written from the chat template that it cites. [`Family`] is its form,
//! and [`FILES`] names the files ("A format of tool calls" in `CONTRIBUTING.md` has the steps). A message of
//! a model is a row of blocks: reasoning, text, calls, an answer; a family says how each begins and ends.

use std::sync::LazyLock;

use maskwright_json_schema::Style;
use serde::Deserialize;

/// How the models of a family write calls.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    /// What users call it.
    pub(crate) name: String,
    /// Other names of it.
    #[serde(default)]
    pub(crate) aliases: Vec<String>,
    /// Models that write so.
    pub(crate) models: Vec<String>,
    /// What the file was written from, with versions.
    pub(crate) sources: Vec<String>,
    /// Why no message of a chat template was at hand to check the description with.
    pub(crate) unrendered: Option<String>,
    /// Chat templates of the family, by strings in them. Empty if there are none.
    pub(crate) templates: Vec<TemplateMarks>,
    pub(crate) reasoning: Option<Reasoning>,
    #[serde(default)]
    pub(crate) text: Text,
    /// What stands around text that is the whole answer.
    #[serde(default)]
    pub(crate) answer: Around,
    pub(crate) calls: Calls,
    /// What ends the message after calls and text.
    #[serde(default)]
    pub(crate) end: String,
}

/// Strings by which a chat template is told from those of other families.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateMarks {
    /// All of these are in it.
    pub(crate) has: Vec<String>,
    /// None of these is.
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
}

/// The part of a message where the model reasons.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reasoning {
    pub(crate) begin: String,
    pub(crate) end: String,
    /// Whether the prompt ends with `begin`, so that the model's text begins inside.
    #[serde(default)]
    pub(crate) is_open: bool,
    /// What the model may write to say that it does not reason.
    pub(crate) none: Option<String>,
    /// What no reasoning holds, because readers take it for the end; by default `end` without white space
    /// around it.
    pub(crate) mark: Option<String>,
}

/// What stands around a block.
#[derive(Deserialize, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Around {
    pub(crate) begin: String,
    pub(crate) end: String,
}

/// Text in a message with calls.
#[derive(Deserialize, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    #[serde(default)]
    pub(crate) place: TextPlace,
    /// What stands around it.
    #[serde(default)]
    pub(crate) around: Around,
    /// Whether it is there even if it is empty.
    #[serde(default)]
    pub(crate) is_always_there: bool,
    /// Whether the prompt or the end of the reasoning has its beginning already.
    #[serde(default)]
    pub(crate) is_open: bool,
    /// Whether several may follow each other, each with its marks.
    #[serde(default)]
    pub(crate) may_repeat: bool,
    /// What text and reasoning must not hold besides the trigger of calls, because readers take it for a
    /// mark.
    #[serde(default)]
    pub(crate) excludes: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TextPlace {
    /// Before the first call.
    #[default]
    Before,
    /// Before the first call and after the last.
    Around,
    /// Nowhere: a message is either calls or text.
    Nowhere,
}

/// The calls of a message.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calls {
    /// What stands before the first call.
    #[serde(default)]
    pub(crate) begin: Vec<Part>,
    #[serde(default)]
    pub(crate) separator: String,
    /// Whether the white space at the end of the separator may be missing: models leave it out, and readers
    /// do not miss it.
    #[serde(default)]
    pub(crate) may_lack_space: bool,
    /// What stands after the last call.
    #[serde(default)]
    pub(crate) end: Vec<Part>,
    /// How the calls begin, as far as no text may contain it; `{name}` stands for the name of each tool.
    pub(crate) trigger: String,
    /// Whether arguments may come in any order, even if the request does not ask for it: models do not keep
    /// to the schema's.
    #[serde(default)]
    pub(crate) is_any_order: bool,
    /// Whether arguments are on one line, because readers end a call at a line feed.
    #[serde(default)]
    pub(crate) is_one_line: bool,
    /// Whether a message has one call at most.
    #[serde(default)]
    pub(crate) is_one: bool,
    /// The forms of a call, each with a name and arguments.
    pub(crate) forms: Vec<Vec<Part>>,
    /// The forms of a call of a custom tool, each with a name and the tool's text as it is. Without them it
    /// is a string of JSON in the place of the arguments, if those are JSON.
    #[serde(default)]
    pub(crate) custom_forms: Vec<Vec<Part>>,
}

/// A part of a call, or of what stands around calls.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// Any match of a regular expression.
    Regex(String),
    /// The same, which is the id of the call.
    Id(String),
    /// The parts, or nothing.
    Optional(Vec<Part>),
    /// Any of these rows of parts.
    Choice(Vec<Vec<Part>>),
    /// The tool's name.
    Name(NameForm),
    /// The arguments, in a style.
    Arguments(Style),
    /// What a custom tool is given.
    Input(()),
    /// The string as it is.
    #[serde(untagged)]
    Text(String),
}

/// How a name is written.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NameForm {
    /// Between the quotes of a JSON string.
    Json,
    /// As it is: of letters, digits, `_`, `-`, `.`, `:` and `/` only.
    Plain,
    /// As it is: of letters, digits, `_`, `-` and `.` only.
    Word,
    /// As a function of Python: letters, digits and `_`, the first no digit, and no keyword.
    Python,
    /// The same, or several with dots between them.
    DottedPython,
}

impl Calls {
    /// The marks at which readers see the end of a call or of all calls.
    pub(crate) fn end_marks(&self) -> Vec<&str> {
        let ends = self.forms.iter().filter_map(|form| form.last()).chain(&self.end);
        let texts =
            ends.filter_map(|part| if let Part::Text(text) = part { Some(text.trim()) } else { None });
        let mut marks: Vec<&str> = texts.filter_map(|text| text.find('<').map(|at| &text[at..])).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

impl Family {
    /// Whether a chat template is of this family.
    pub(crate) fn has_template(&self, template: &str) -> bool {
        self.templates.iter().any(|marks| {
            marks.has.iter().all(|mark| template.contains(mark))
                && !marks.lacks.iter().any(|mark| template.contains(mark))
        })
    }

    /// Whether the prompt of a chat template may end with the mark that begins reasoning: where the template
    /// asks for an answer, this ends one of its strings, or of the texts between its statements.
    pub(crate) fn opens_reasoning(&self, template: &str) -> bool {
        let Some(reasoning) = &self.reasoning else { return false };
        let asked = template.rfind("add_generation_prompt").map_or("", |at| &template[at..]);
        // The ends of strings and of texts. A line feed at the end of a string is written as an escape.
        asked.split(['\'', '"', '{', '}', '%']).any(|piece| {
            let piece = piece.trim_end().trim_end_matches("\\n").trim_end();
            piece.ends_with(reasoning.begin.trim())
        })
    }

    /// Whether users call it so.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// All families, in the order of their names.
pub(crate) fn families() -> &'static [Family] {
    static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
        FILES.iter().map(|text| serde_json::from_str(text).expect("a test reads all families")).collect()
    });
    &FAMILIES
}

/// The texts of the files of these names.
macro_rules! files {
    ($($name:literal)*) => { &[$(include_str!(concat!("../../families/", $name, ".json"))),*] };
}

const FILES: &[&str] = files! {
    "cohere"
    "command_a"
    "command_r"
    "deepseek_r1"
    "deepseek_v3_1"
    "deepseek_v3_2"
    "deepseek_v4"
    "deepseek_v4_1"
    "ernie"
    "exaone"
    "functionary_v3_1"
    "functionary_v3_2"
    "functools"
    "gemma_3_json"
    "gemma_4"
    "glm_4_5"
    "glm_4_7"
    "granite_3"
    "harmony"
    "hunyuan"
    "internlm"
    "jamba"
    "kimi"
    "kimi_k3"
    "lfm_2"
    "llama"
    "llama_4"
    "llama_4_pythonic"
    "longcat"
    "mimo"
    "minimax"
    "minimax_m3"
    "mistral_v11"
    "mistral_v13"
    "mistral_v3"
    "mistral_v7"
    "nemotron"
    "nemotron_3"
    "olmo_3"
    "phi_4"
    "pythonic"
    "qwen_3"
    "qwen_3_coder"
    "seed_oss"
    "step_3_5"
    "xlam"
};
