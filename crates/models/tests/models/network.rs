//! The contract of [`LanguageModel`], on tiny networks.

use candle_core::quantized::{GgmlDType, gguf_file::Value};
use maskwright_decode::{LanguageModel, SequenceId, SequenceInput};
use maskwright_models::{ChatMessage, ChatTemplate, LlamaModel, ModelInfo};
use maskwright_vocabulary::TokenId;
use tempfile::tempdir;

use crate::{
    naive::{self, Kind},
    tiny::Tiny,
};

fn load(tiny: &Tiny) -> LlamaModel {
    let folder = tempdir().unwrap();
    LlamaModel::from_gguf(tiny.write(folder.path(), "tiny.gguf")).unwrap()
}

fn model(dtype: GgmlDType) -> LlamaModel {
    load(&Tiny::new("llama", dtype, 1))
}

/// One network whose layers attend to all tokens, of this type, and one with windows of 8 in F32.
///
/// Products with quantised matrices round their rows to 8 bits. In a pass of other rows the last bit of a
/// number may differ, and with it such a rounding; seven layers make more of that than the tests allow.
fn with_and_without_windows(dtype: GgmlDType) -> [LlamaModel; 2] {
    [model(dtype), load(&Tiny::new("gemma3", GgmlDType::F32, 1))]
}

fn ids(n_tokens: usize) -> Vec<TokenId> {
    (0..n_tokens as u32).map(|position| TokenId((position * 7 + position / 5) % 48)).collect()
}

/// The logits after every one of `tokens`, from an empty sequence in one call.
fn from_scratch(model: &mut LlamaModel, tokens: &[TokenId]) -> Vec<Vec<f32>> {
    let sequence = model.create_sequence().unwrap();
    let rows = feed_all(model, sequence, tokens);
    model.release_sequence(sequence);
    rows
}

fn feed_all(model: &mut LlamaModel, sequence: SequenceId, tokens: &[TokenId]) -> Vec<Vec<f32>> {
    let logits = model.forward(&[SequenceInput::all(sequence, tokens)]).unwrap().remove(0);
    (0..logits.n_rows()).map(|row| logits.row(row).to_vec()).collect()
}

fn assert_close(left: &[f32], right: &[f32], what: &str) {
    assert_eq!(left.len(), right.len(), "{what}");
    for (l, r) in left.iter().zip(right) {
        assert!((l - r).abs() < 1e-3 * (1.0 + r.abs()), "{what}: {l} and {r}");
    }
}

#[test]
fn agrees_with_plain_loops() {
    for kind in Kind::ALL {
        let tiny = Tiny::new(kind.name(), GgmlDType::F32, 5);
        assert_agrees(&tiny, kind);
    }
    // Other windows than the usual: five of six layers have them, unless the file says otherwise.
    for period in [1, 2, 9] {
        let mut tiny = Tiny::new("gemma3", GgmlDType::F32, 6);
        tiny.set("gemma3.attention.sliding_window_pattern", Value::U32(period));
        assert_agrees(&tiny, Kind::Gemma3);
    }
}

fn assert_agrees(tiny: &Tiny, kind: Kind) {
    let tokens = ids(23);
    let expected = naive::logits(tiny, &tokens, kind);
    let mut model = load(tiny);
    let sequence = model.create_sequence().unwrap();
    let other = model.create_sequence().unwrap();
    // Once in one pass, and once in pieces that share their passes with another sequence.
    for (row, expected) in from_scratch(&mut model, &tokens).iter().zip(&expected) {
        assert_close(row, expected, &format!("{kind:?}"));
    }
    for (start, end) in [(0, 6), (6, 7), (7, 21), (21, 23)] {
        let batch =
            [SequenceInput::all(other, &[TokenId(7)]), SequenceInput::all(sequence, &tokens[start..end])];
        let logits = &model.forward(&batch).unwrap()[1];
        for (row, expected) in expected[start..end].iter().enumerate() {
            let what = format!("{kind:?}, position {} in pieces", start + row);
            assert_close(logits.row(row), expected, &what);
        }
    }
}

#[test]
fn every_position_equals_one_token_at_a_time() {
    for dtype in
        [GgmlDType::F32, GgmlDType::F16, GgmlDType::Q8_0, GgmlDType::Q4_0, GgmlDType::Q4_1, GgmlDType::Q5_0]
    {
        for mut model in with_and_without_windows(dtype) {
            let tokens = ids(70);
            let rows = from_scratch(&mut model, &tokens);
            let sequence = model.create_sequence().unwrap();
            for (position, id) in tokens.iter().enumerate() {
                let logits = model.forward(&[SequenceInput::last(sequence, &[*id])]).unwrap();
                assert_close(logits[0].row(0), &rows[position], &format!("{dtype:?}, position {position}"));
            }
            assert_eq!(model.n_cached(sequence), 70);
        }
    }
}

#[test]
fn truncating_and_feeding_again_equals_from_scratch() {
    for mut model in with_and_without_windows(GgmlDType::F32) {
        let tokens = ids(90);
        let expected = from_scratch(&mut model, &tokens);
        let sequence = model.create_sequence().unwrap();
        feed_all(&mut model, sequence, &tokens);
        for n_kept in [80, 33, 1, 0] {
            model.truncate(sequence, n_kept).unwrap();
            // Other tokens first: what they leave behind must not be seen.
            feed_all(&mut model, sequence, &[TokenId(9); 3]);
            model.truncate(sequence, n_kept).unwrap();
            assert_eq!(model.n_cached(sequence), n_kept);
            let rows = feed_all(&mut model, sequence, &tokens[n_kept..]);
            for (row, expected) in rows.iter().zip(&expected[n_kept..]) {
                assert_close(row, expected, &format!("after {n_kept} kept tokens"));
            }
        }
        let error = model.truncate(sequence, 91).unwrap_err().to_string();
        assert_eq!(error, "91 tokens are to be kept of 90");
    }
}

#[test]
fn a_batch_equals_its_sequences_one_by_one() {
    for mut model in with_and_without_windows(GgmlDType::Q8_0) {
        let texts = [ids(5), vec![TokenId(3); 40], vec![TokenId(7)], ids(12)];
        let sequences: Vec<_> = texts.iter().map(|_| model.create_sequence().unwrap()).collect();
        // Unequal beginnings, so that positions differ inside the batch.
        feed_all(&mut model, sequences[1], &[4, 5, 6].map(TokenId));
        let batch = [
            SequenceInput::last(sequences[0], &texts[0]),
            SequenceInput::all(sequences[1], &texts[1]),
            SequenceInput { sequence: sequences[2], tokens: &texts[2], n_logits: 0 },
            SequenceInput { sequence: sequences[3], tokens: &texts[3], n_logits: 3 },
        ];
        let logits = model.forward(&batch).unwrap();
        assert_eq!(logits.iter().map(|rows| rows.n_rows()).collect::<Vec<_>>(), [1, 40, 0, 3]);
        let second = [[4, 5, 6].map(TokenId).as_slice(), &texts[1]].concat();
        for (index, whole, n_rows) in [(0, &texts[0], 1), (1, &second, 40), (3, &texts[3], 3)] {
            let expected = from_scratch(&mut model, whole);
            for row in 0..n_rows {
                let expected = &expected[whole.len() - n_rows + row];
                assert_close(logits[index].row(row), expected, &format!("sequence {index}, row {row}"));
            }
        }
    }
}

#[test]
fn forks_share_the_past_and_not_the_future() {
    for mut model in with_and_without_windows(GgmlDType::F32) {
        let trunk = model.create_sequence().unwrap();
        feed_all(&mut model, trunk, &ids(64));
        let fork = model.fork_sequence(trunk).unwrap();
        let on_fork = feed_all(&mut model, fork, &[1, 2].map(TokenId));
        let on_trunk = feed_all(&mut model, trunk, &[3, 4].map(TokenId));
        let expected = |model: &mut LlamaModel, end: [u32; 2]| {
            from_scratch(model, &[ids(64), end.map(TokenId).to_vec()].concat())
        };
        assert_close(&on_fork[1], &expected(&mut model, [1, 2])[65], "the fork");
        assert_close(&on_trunk[1], &expected(&mut model, [3, 4])[65], "the trunk");
        model.release_sequence(trunk);
        assert_eq!((model.n_cached(trunk), model.n_cached(fork)), (0, 66));
        assert!(model.fork_sequence(trunk).is_err() && model.truncate(trunk, 0).is_err());
        let empty = model.create_sequence().unwrap();
        let fork = model.fork_sequence(empty).unwrap();
        assert_close(
            &feed_all(&mut model, fork, &[TokenId(5)])[0],
            &from_scratch(&mut model, &[TokenId(5)])[0],
            "an empty fork",
        );
    }
}

#[test]
fn long_inputs_are_cut_into_passes_unnoticed() {
    for mut model in with_and_without_windows(GgmlDType::Q8_0) {
        let tokens = ids(590);
        let sequences = [model.create_sequence().unwrap(), model.create_sequence().unwrap()];
        let batch =
            [SequenceInput::last(sequences[0], &tokens[..300]), SequenceInput::all(sequences[1], &tokens)];
        let logits = model.forward(&batch).unwrap();
        assert_eq!((logits[0].n_rows(), logits[1].n_rows()), (1, 590));
        assert_close(logits[0].row(0), logits[1].row(299), "the shorter text");
        let third = model.create_sequence().unwrap();
        for (position, piece) in tokens.chunks(59).enumerate() {
            let row = model.forward(&[SequenceInput::last(third, piece)]).unwrap();
            assert_close(row[0].row(0), logits[1].row(position * 59 + 58), "the longer text");
        }
    }
}

#[test]
fn wrong_calls_are_errors_and_change_nothing() {
    let mut model = model(GgmlDType::F32);
    let (first, second) = (model.create_sequence().unwrap(), model.create_sequence().unwrap());
    let unknown = SequenceId::new(99);
    feed_all(&mut model, first, &[1, 2].map(TokenId));
    let long = vec![TokenId(1); 599];
    let cases: [(Vec<SequenceInput<'_>>, &str); 6] = [
        (vec![SequenceInput::last(first, &[])], "sequence 0 is given no token"),
        (
            vec![SequenceInput::last(second, &[TokenId(1)]), SequenceInput::last(first, &[TokenId(48)])],
            "token id 48 is outside",
        ),
        (
            vec![SequenceInput::last(first, &[TokenId(1)]), SequenceInput::last(first, &[TokenId(1)])],
            "sequence 0 occurs twice",
        ),
        (
            vec![SequenceInput::last(second, &[TokenId(1)]), SequenceInput::last(unknown, &[TokenId(1)])],
            "the model has no sequence 99",
        ),
        (vec![SequenceInput { sequence: first, tokens: &[TokenId(1)], n_logits: 2 }], "2 rows of logits"),
        (vec![SequenceInput::last(first, &long)], "sequence 0 has 2 tokens and 599 more do not fit"),
    ];
    for (batch, message) in cases {
        let error = model.forward(&batch).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
        assert_eq!((model.n_cached(first), model.n_cached(second)), (2, 0));
    }
    assert!(model.forward(&[]).unwrap().is_empty());
}

#[test]
fn the_file_tells_about_the_model() {
    let folder = tempdir().unwrap();
    let path = Tiny::new("llama", GgmlDType::F32, 1).write(folder.path(), "tiny.gguf");
    let info = ModelInfo::from_gguf(&path).unwrap();
    assert_eq!((info.architecture.as_str(), info.n_layers, info.context_length), ("llama", 2, 600));
    assert_eq!((info.bos_id, info.eos_ids.as_slice()), (Some(TokenId(1)), &[TokenId(2)][..]));
    assert_eq!((info.bos_token.as_str(), info.eos_token.as_str()), ("t1", "t2"));
    let template = ChatTemplate::from_info(&info).unwrap().unwrap();
    assert_eq!(template.render(&[ChatMessage::user("hi")], false).unwrap(), "t1hi");
    assert_eq!(LlamaModel::from_gguf(&path).unwrap().info(), &info);
}
