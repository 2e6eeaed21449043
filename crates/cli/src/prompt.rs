//! What the model reads: the user's prompt, the chat template around it, its tokens, the healed end.

use anyhow::{Context, bail};
use maskwright::{TokenId, Tokenizer};
use maskwright_decode::heal_prompt;
use maskwright_models::{ChatMessage, ChatTemplate, ModelInfo};

use crate::arguments::Generate;
use crate::input;
use crate::outcome::note;

/// A prompt as tokens.
pub(crate) struct Prompt {
    /// What the model reads.
    pub(crate) ids: Vec<TokenId>,
    /// The end of the prompt that the model shall write again, cut as it likes; not part of the text.
    pub(crate) healed: Vec<u8>,
    /// The tokens of the whole prompt, not healed.
    pub(crate) whole: Vec<TokenId>,
}

impl Prompt {
    /// A prompt that is read as it is.
    pub(crate) fn unhealed(ids: Vec<TokenId>) -> Prompt {
        Prompt { whole: ids.clone(), ids, healed: Vec::new() }
    }
}

/// The user's words: the argument, or standard input without its last line end.
pub(crate) fn read(arguments: &Generate) -> anyhow::Result<String> {
    if let Some(prompt) = &arguments.prompt {
        return Ok(prompt.clone());
    }
    let bytes = input::read_piped("prompt", "use -p PROMPT")?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        anyhow::anyhow!("the prompt on standard input is not UTF-8 text from byte {position} on")
    })?;
    if text.ends_with('\n') {
        text.truncate(text.len() - 1 - usize::from(text.ends_with("\r\n")));
    }
    if text.is_empty() {
        bail!("the prompt is empty: give one by -p PROMPT or on standard input");
    }
    Ok(text)
}

/// Puts the prompt into the model's chat template (unless it is raw), and cuts it into tokens.
///
/// Special tokens are recognised by their spelling, in the user's words too: who writes the prompt here is
/// the one who runs the model.
pub(crate) fn prepare(
    arguments: &Generate,
    text: &str,
    info: &ModelInfo,
    tokenizer: &Tokenizer,
) -> anyhow::Result<Prompt> {
    let dialogue =
        if arguments.raw { None } else { dialogue(arguments.system.as_deref(), text, RAW, info, tokenizer)? };
    if let Some(ids) = dialogue {
        // The dialogue ends where the template ends, at a boundary that the model knows: nothing to heal.
        return Ok(Prompt::unhealed(ids));
    }
    if arguments.system.is_some() {
        bail!("--system is given, but the model has no chat template to put it into");
    }
    let mut ids = plain(text, info, tokenizer)?;
    if ids.is_empty() {
        ids.push(beginning(info)?);
    }
    if arguments.no_heal {
        return Ok(Prompt::unhealed(ids));
    }
    let healed = heal_prompt(&ids, &**tokenizer.vocabulary());
    Ok(Prompt { ids: healed.kept_ids, healed: healed.prefix, whole: ids })
}

/// What the model reads before it fills a template: the prompt, if there is one, as [`prepare`] gives it.
/// Where `needs_some`, the template begins with a hole, and the model must read something before it can
/// write.
pub(crate) fn before_template(
    prompt: Option<&str>,
    needs_some: bool,
    info: &ModelInfo,
    tokenizer: &Tokenizer,
) -> anyhow::Result<Vec<TokenId>> {
    let instead = "leave out -p to let it begin with the template";
    let dialogue = prompt.map(|text| dialogue(None, text, instead, info, tokenizer)).transpose()?.flatten();
    let mut ids = match dialogue {
        Some(ids) => ids,
        None => plain(prompt.unwrap_or_default(), info, tokenizer)?,
    };
    if needs_some && ids.is_empty() {
        ids.push(beginning(info)?);
    }
    Ok(ids)
}

/// What to do instead of giving `generate` an empty prompt.
const RAW: &str = "use --raw to let it begin anywhere";

/// A prompt in the model's chat template; `None`, with a note, if it has none. What to do `instead` of an
/// empty prompt.
fn dialogue(
    system: Option<&str>,
    text: &str,
    instead: &str,
    info: &ModelInfo,
    tokenizer: &Tokenizer,
) -> anyhow::Result<Option<Vec<TokenId>>> {
    let Some(template) = ChatTemplate::from_info(info)? else {
        note("the model has no chat template; it continues the prompt as it is");
        return Ok(None);
    };
    if text.trim().is_empty() {
        bail!("the prompt is empty: say what the model shall write, or {instead}");
    }
    let system = system.map(ChatMessage::system);
    let messages: Vec<ChatMessage> = system.into_iter().chain([ChatMessage::user(text)]).collect();
    Ok(Some(tokenizer.encode_with_special(&template.render(&messages, true)?)?))
}

/// A text to be continued as it is, after the token that begins texts if the model wants it.
fn plain(text: &str, info: &ModelInfo, tokenizer: &Tokenizer) -> anyhow::Result<Vec<TokenId>> {
    let begin = info.bos_id.filter(|_| info.add_bos.unwrap_or(true));
    Ok(begin.into_iter().chain(tokenizer.encode_with_special(text)?).collect())
}

/// What a model reads where there is no text.
fn beginning(info: &ModelInfo) -> anyhow::Result<TokenId> {
    info.bos_id.context("the prompt is empty, and the model has no token that begins a text")
}

#[cfg(test)]
mod tests {
    use maskwright::TokenizerOptions;

    use super::*;

    /// `infill` told of `--raw`, which it has not.
    #[test]
    fn an_empty_prompt_before_a_template_is_left_out() {
        let Some(path) = maskwright_oracle::shared("models/stories260K/stories260K-f32.gguf") else { return };
        let mut info = ModelInfo::from_gguf(&path).unwrap();
        info.chat_template = Some("{{ messages[0].content }}".to_owned());
        let tokenizer = Tokenizer::from_gguf(&path, &TokenizerOptions::default()).unwrap();
        let error = before_template(Some(" "), true, &info, &tokenizer).unwrap_err().to_string();
        assert!(error.ends_with("or leave out -p to let it begin with the template"), "{error}");
        assert!(!before_template(None, true, &info, &tokenizer).unwrap().is_empty());
    }
}
