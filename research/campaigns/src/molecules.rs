//! A grammar of molecules whose rings are closed, as text for Lark.
//!
//! In SMILES a digit after an atom opens a ring bond, and the same digit after a later atom closes it:
//! `C1CCCC1` is a ring of five. The built-in grammar `smiles` allows any digit anywhere, since over all
//! digits the pairs are no context-free property. Over two digits they are: every rule is written once for
//! each state of the rings before it and after it.
//!
//! The state of a digit is `c`, closed; `o`, open; or `f`, opened at the atom to which the next one is
//! bonded. A ring that is `f` must not be closed at once, since the two atoms have a bond already. For the
//! same reason no atom opens two rings: they could be closed together. A branch, which stands in parentheses
//! after an atom, is a chain of its own:
//!
//! ```text
//! chain_cc_cc: atom "1" tail_fc_cc         an atom opens ring 1; what follows must close it
//! tail_fc_cc:  chain_fc_cc                 the next atom
//!            | "(" chain_fc_oc ")" tail_fc_cc    a branch that leaves the ring open, then more
//! ```
//!
//! After a branch an open ring counts as `f` if it did before, also where the branch closed it and opened it
//! anew. This refuses a few molecules and allows no wrong one.

/// The rules of atoms and the terminals are the built-in grammar's.
const BUILTIN: &str = include_str!("../../../crates/lark/grammars/smiles.lark");

type State = [char; 2];

/// The grammar; its lexer is the basic one.
pub(crate) fn closed_rings() -> String {
    let mut text = String::from("start: chain_cc_cc\n");
    let befores = states(&['c', 'o', 'f']);
    for &before in &befores {
        for after in states(&['c', 'o']) {
            let chain: Vec<String> = atoms(before)
                .into_iter()
                .map(|(digits, state)| format!("atom {digits}{}", rule("tail", state, after)))
                .collect();
            let mut tail =
                vec![rule("chain", before, after), format!("BOND {}", rule("chain", before, after))];
            if is_like(before, after) {
                tail.push(String::new());
            }
            for within in states(&['c', 'o']) {
                let rest = rule("tail", after_branch(before, within), after);
                tail.push(format!(r#""(" BOND? {} ")" {rest}"#, rule("chain", before, within)));
            }
            for (name, branches) in [("chain", chain), ("tail", tail)] {
                text += &format!("{}: {}\n", rule(name, before, after), branches.join(" | "));
            }
        }
    }
    let atoms = &BUILTIN[BUILTIN.find("?atom:").expect("the built-in grammar has atoms")..];
    text + &atoms[..atoms.find("\nRING").expect("its last terminal is the number of a ring")]
}

/// The digits after an atom, and the states after it: each ring is left alone, opened or closed.
fn atoms([one, two]: State) -> Vec<(String, State)> {
    let choices = |state: char, digit: &'static str| match state {
        'c' => vec![("", 'c'), (digit, 'f')],
        'o' => vec![("", 'o'), (digit, 'c')],
        _ => vec![("", 'o')],
    };
    let mut found = Vec::new();
    for (first, one) in choices(one, r#""1" "#) {
        for (second, two) in choices(two, r#""2" "#) {
            if (one, two) != ('f', 'f') {
                found.push((format!("{first}{second}"), [one, two]));
            }
        }
    }
    found
}

fn after_branch(before: State, within: State) -> State {
    [0, 1].map(|digit| if (before[digit], within[digit]) == ('f', 'o') { 'f' } else { within[digit] })
}

fn is_like(before: State, after: State) -> bool {
    (0..2).all(|digit| (before[digit] == 'c') == (after[digit] == 'c'))
}

fn states(of: &[char]) -> Vec<State> {
    of.iter().flat_map(|&one| of.iter().map(move |&two| [one, two])).collect()
}

fn rule(name: &str, before: State, after: State) -> String {
    format!("{name}_{}_{}", String::from_iter(before), String::from_iter(after))
}

#[cfg(test)]
mod tests {
    use maskwright::lark::{LarkOptions, LexerKind};
    use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, Tokenizer};

    use super::*;

    #[test]
    fn rings_are_closed() {
        let bytes: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let compiler = Compiler::new(&Tokenizer::from_tokens(bytes, &[]).unwrap());
        let mut options = LarkOptions::default();
        options.lexer = LexerKind::Basic;
        let source = GrammarSource::lark(closed_rings(), options);
        let compiled = compiler.compile(&source, &CompileOptions::default()).unwrap();
        let reads = |text: &str| {
            let mut matcher = Matcher::new(&compiled);
            matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting()
        };
        for text in ["C", "C1CC1", "c1ccc2ccccc2c1", "C1CCCCC1CC1CC1", "CC(=O)Oc1ccccc1C(=O)O", "C1CC(CC1)C"]
        {
            assert!(reads(text), "{text}");
        }
        for text in
            ["", "C1", "C1CC", "C1C1", "C11", "C12CCC12", "C1(C1)", "CC1)", "C1CC2", "C3CC3", "C(C1)CC"]
        {
            assert!(!reads(text), "{text}");
        }
    }
}
