//! Nodes as text, for people.

use std::fmt::Write;

use super::{ALL, Arena, Node, NodeId};

impl Arena {
    /// The expression in readable form, cut with `…` after about `max_length` bytes.
    pub(crate) fn show(&self, node: NodeId, max_length: usize) -> String {
        let mut text = String::new();
        self.write(node, max_length, &mut text);
        text
    }

    /// Every level of recursion adds text first, so `max_length` bounds the depth.
    fn write(&self, node: NodeId, max_length: usize, text: &mut String) {
        if text.len() >= max_length {
            if !text.ends_with('…') {
                text.push('…');
            }
            return;
        }
        match self.node(node) {
            Node::Empty => text.push('∅'),
            Node::Epsilon => text.push('ε'),
            Node::Bytes(set) => match self.set(*set).as_singleton() {
                Some(byte) => put(text, format_args!("\"{}\"", std::ascii::escape_default(byte))),
                None => put(text, format_args!("{:?}", self.set(*set))),
            },
            &Node::Words { list, low, high, depth } => {
                let words = &self.lists()[list as usize];
                let shown = (low..high).take(4).map(|i| {
                    let rest = &words.word(i)[depth as usize..];
                    let more = if rest.len() > 40 { "…" } else { "" };
                    format!("\"{}{more}\"", rest[..rest.len().min(40)].escape_ascii())
                });
                let shown = shown.collect::<Vec<_>>().join(" | ");
                match high - low {
                    1 => text.push_str(&shown),
                    2..=4 => put(text, format_args!("({shown})")),
                    n => put(text, format_args!("({shown} | … {n} words)")),
                }
            }
            Node::Cons(..) => {
                text.push('(');
                let mut rest = node;
                while let &Node::Cons(head, tail) = self.node(rest) {
                    self.write(head, max_length, text);
                    if text.len() >= max_length {
                        break;
                    }
                    text.push(' ');
                    rest = tail;
                }
                self.write(rest, max_length, text);
                text.push(')');
            }
            Node::Union(list) => self.write_list(list, " | ", max_length, text),
            Node::Intersection(list) => self.write_list(list, " & ", max_length, text),
            Node::Complement(inner) => {
                text.push('¬');
                self.write(*inner, max_length, text);
            }
            Node::Repeat { .. } if node == ALL => text.push_str(".*"),
            Node::Repeat { inner, min, max } => {
                text.push('(');
                self.write(*inner, max_length, text);
                text.push(')');
                match (min, max) {
                    (0, None) => text.push('*'),
                    (1, None) => text.push('+'),
                    (min, None) => put(text, format_args!("{{{min},}}")),
                    (min, Some(max)) => put(text, format_args!("{{{min},{max}}}")),
                }
            }
        }
    }

    fn write_list(&self, list: &[NodeId], separator: &str, max_length: usize, text: &mut String) {
        // The short ones first, so that cutting hides the fewest.
        let mut members = list.to_vec();
        members.sort_by_key(|&member| self.entry(member).cost);
        text.push('(');
        for (i, &member) in members.iter().enumerate() {
            if i > 0 {
                text.push_str(separator);
            }
            self.write(member, max_length, text);
            if text.len() >= max_length {
                break;
            }
        }
        text.push(')');
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string cannot fail");
}
