//! The texts that the built-in diffusion model is trained on, made from a seed: molecules as SMILES, and JSON
//! records of six kinds, whose schemas lie in `schemas` of the model's folder.
//!
//! A sample is a prompt (what kind of text) and a text. Molecules are built unit by unit with the valences
//! that chemistry has, in the way the strings are usually written: a ring closes behind what hangs on it, so
//! brackets and ring numbers nest over long distances.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// A text and what it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    /// What kind of text is wanted: `smiles`, or the kind of a record.
    pub(crate) prompt: &'static str,
    pub(crate) text: String,
}

/// The kinds of records.
pub(crate) const RECORD_KINDS: [&str; 6] = ["person", "book", "city", "event", "order", "recipe"];

/// `n` samples: half of them molecules, half records.
pub(crate) fn samples(seed: u64, n: usize) -> Vec<Sample> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sample = |_| {
        if rng.random_bool(0.5) {
            Sample { prompt: "smiles", text: molecule(&mut rng) }
        } else {
            let prompt = pick(&mut rng, &RECORD_KINDS);
            Sample { prompt, text: record(&mut rng, prompt).to_string() }
        }
    };
    (0..n).map(sample).collect()
}

fn pick<T: Copy>(rng: &mut ChaCha8Rng, choices: &[T]) -> T {
    choices[rng.random_range(0..choices.len())]
}

/// A molecule of one to nine units.
fn molecule(rng: &mut ChaCha8Rng) -> String {
    let n_units = rng.random_range(1..10);
    let mut text =
        pick(rng, &["C", "CC", "C", "O", "N", "CC(C)", "CO", "CN", "F", "Cl", "OC(=O)"]).to_owned();
    chain(rng, n_units, 1, false, &mut text);
    text
}

/// Appends up to `n_units` units, one bond from what stands before; `ring` is the first ring number that is
/// free.
fn chain(rng: &mut ChaCha8Rng, n_units: usize, ring: usize, mut after_hetero: bool, text: &mut String) {
    for left in (0..n_units).rev() {
        let is_last = left == 0;
        match rng.random_range(0..100) {
            0..34 => text.push('C'),
            34..44 if !after_hetero && !is_last => {
                text.push_str(pick(rng, &["N", "O", "O", "N", "S", "NC(=O)", "OC(=O)", "N(C)", "S(=O)(=O)"]));
                after_hetero = !text.ends_with(')') || text.ends_with("N(C)");
                continue;
            }
            44..60 => {
                let branch =
                    pick(rng, &["=O", "=O", "C", "O", "N", "F", "CC", "C(=O)O", "C#N", "OC", "Cl", "C(C)C"]);
                text.push_str(&format!("C({branch})"));
            }
            60..66 => {
                let (center, branch) =
                    (pick(rng, &["[C@H]", "[C@@H]"]), pick(rng, &["C", "O", "N", "CO", "F"]));
                text.push_str(&format!("{center}({branch})"));
            }
            66..70 if !after_hetero && !text.ends_with('/') => {
                text.push_str(pick(rng, &["C=C", "/C=C/", "C#C"]))
            }
            70..92 if ring < 5 => {
                ring_unit(rng, left, ring, text);
                return;
            }
            _ => text.push_str("CC"),
        }
        after_hetero = false;
    }
    if after_hetero || text.ends_with('/') || rng.random_bool(0.4) {
        text.push_str(pick(
            rng,
            &["C", "C", "CO", "CN", "C(F)(F)F", "C#N", "C(=O)O", "CCl", "CBr", "C(N)=O"],
        ));
    }
}

/// A ring, with the rest of the chain inside it or at its end.
fn ring_unit(rng: &mut ChaCha8Rng, n_units: usize, ring: usize, text: &mut String) {
    let (open, between, close) = pick(
        rng,
        &[
            ("c1ccc(", "", ")cc1"),
            ("c1cccc(", "", ")c1"),
            ("c1ccc(", "Cl)c(", ")c1"),
            ("c1cnc(", "", ")nc1"),
            ("c1ccc(", "", ")s1"),
            ("C1CCN(", "", ")CC1"),
            ("C1CCC(", "", ")CC1"),
            ("C1CN(", "", ")C1"),
            ("C1CCCN1", "", ""),
            ("C1CC1", "", ""),
        ],
    );
    let number = |part: &str| part.replace('1', &ring.to_string());
    text.push_str(&number(open));
    text.push_str(&number(between));
    if close.is_empty() || n_units > 0 {
        chain(rng, n_units, ring + 1, false, text);
        if text.ends_with('(') {
            text.push('C');
        }
    } else {
        text.push_str(pick(rng, &["F", "Cl", "C", "O", "OC", "N", "C#N", "Br", "C(=O)O", "[N+](=O)[O-]"]));
    }
    text.push_str(&number(close));
}

const FIRST_NAMES: [&str; 16] = [
    "Ada", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Ines", "Jonas", "Klara", "Leo", "Mia",
    "Nora", "Oskar", "Paula",
];
const LAST_NAMES: [&str; 12] = [
    "Adler", "Brown", "Costa", "Diaz", "Evans", "Fischer", "Gray", "Holm", "Ito", "Jensen", "Klein", "Lopez",
];
const CITIES: [&str; 12] = [
    "Athens", "Berlin", "Cairo", "Dublin", "Geneva", "Lima", "Lisbon", "Oslo", "Paris", "Quito", "Rome",
    "Vienna",
];
const NOUNS: [&str; 14] = [
    "river", "garden", "winter", "machine", "island", "letter", "mirror", "mountain", "road", "storm",
    "city", "bridge", "forest", "night",
];
const ADJECTIVES: [&str; 10] =
    ["silent", "long", "golden", "broken", "hidden", "last", "northern", "green", "empty", "old"];
const FOODS: [&str; 12] = [
    "flour", "butter", "sugar", "salt", "milk", "rice", "beans", "onion", "garlic", "tomato", "pepper",
    "cheese",
];

/// A record that its kind's schema allows.
fn record(rng: &mut ChaCha8Rng, kind: &str) -> Value {
    let name = |rng: &mut ChaCha8Rng| format!("{} {}", pick(rng, &FIRST_NAMES), pick(rng, &LAST_NAMES));
    let title = |rng: &mut ChaCha8Rng| match rng.random_range(0..3) {
        0 => format!("The {} {}", pick(rng, &ADJECTIVES), pick(rng, &NOUNS)),
        1 => format!("{} of {}", pick(rng, &NOUNS), pick(rng, &CITIES)),
        _ => format!("A {} {}", pick(rng, &ADJECTIVES), pick(rng, &NOUNS)),
    };
    let date = |rng: &mut ChaCha8Rng| {
        let (year, month, day) =
            (rng.random_range(1990..2030), rng.random_range(1..=12), rng.random_range(1..=28));
        format!("{year}-{month:02}-{day:02}")
    };
    let cents = |rng: &mut ChaCha8Rng| f64::from(rng.random_range(100..10_000)) / 100.0;
    match kind {
        "person" => {
            let (full, age) = (name(rng), rng.random_range(1..100));
            let mut person = json!({"name": full, "age": age, "city": pick(rng, &CITIES)});
            if rng.random_bool(0.5) {
                let mail = full.to_lowercase().replace(' ', ".") + "@example.org";
                person["email"] = mail.into();
            }
            person
        }
        "book" => json!({
            "title": title(rng),
            "author": {"name": name(rng), "born": rng.random_range(1800..2000)},
            "year": rng.random_range(1900..2030),
            "tags": words(rng, &NOUNS, 0, 3),
        }),
        "city" => json!({
            "name": pick(rng, &CITIES),
            "population": rng.random_range(10..10_000) * 1000,
            "location": [f64::from(rng.random_range(-900..900)) / 10.0, f64::from(rng.random_range(-1800..1800)) / 10.0],
            "capital": rng.random_bool(0.5),
        }),
        "event" => {
            let guests = rng.random_range(0..4);
            let guests: Vec<Value> = (0..guests).map(|_| pick(rng, &FIRST_NAMES).into()).collect();
            json!({"title": title(rng), "date": date(rng), "place": pick(rng, &CITIES), "guests": guests})
        }
        "order" => {
            let n_items = rng.random_range(1..4);
            let items: Vec<Value> = (0..n_items)
                .map(|_| json!({"item": pick(rng, &FOODS), "count": rng.random_range(1..20), "price": cents(rng)}))
                .collect();
            json!({"id": rng.random_range(1000..10_000), "items": items, "paid": rng.random_bool(0.5)})
        }
        _ => json!({
            "name": format!("{} with {}", pick(rng, &FOODS), pick(rng, &FOODS)),
            "minutes": rng.random_range(1..25) * 5,
            "ingredients": words(rng, &FOODS, 2, 5),
            "difficulty": pick(rng, &["easy", "medium", "hard"]),
        }),
    }
}

fn words(rng: &mut ChaCha8Rng, choices: &[&str], least: usize, most: usize) -> Vec<String> {
    let n = rng.random_range(least..=most);
    (0..n).map(|_| pick(rng, choices).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};

    use super::*;
    use crate::judge::Judge;

    #[test]
    fn every_record_satisfies_its_schema() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let folder = crate::data::workspace().join("crates/models/assets/diffusion/schemas");
        for kind in RECORD_KINDS {
            let schema = std::fs::read_to_string(folder.join(format!("{kind}.json"))).unwrap();
            let judge = Judge::new(&serde_json::from_str(&schema).unwrap()).unwrap();
            for _ in 0..200 {
                let record = record(&mut rng, kind).to_string();
                assert_eq!(judge.objection(record.as_bytes()), None, "{record}");
            }
        }
    }

    #[test]
    fn every_molecule_is_in_the_grammar_and_closes_its_rings() {
        let bytes: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let tokenizer = Tokenizer::from_tokens([bytes, vec![Vec::new()]].concat(), &[TokenId(256)]).unwrap();
        let source = include_str!("../../../testdata/infill/smiles.gbnf");
        let grammar = Compiler::new(&tokenizer)
            .compile(&GrammarSource::gbnf(source), &CompileOptions::default())
            .unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..2_000 {
            let text = molecule(&mut rng);
            let mut matcher = Matcher::new(&grammar);
            assert!(matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting(), "{text}");
            for ring in "12345".chars() {
                assert!(text.matches(ring).count().is_multiple_of(2), "{text}");
            }
            assert!(!text.contains("()"), "{text}");
        }
    }

    #[test]
    fn a_seed_gives_one_corpus() {
        assert_eq!(samples(3, 50), samples(3, 50));
        assert_ne!(samples(3, 50), samples(4, 50));
    }
}
