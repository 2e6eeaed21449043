//! The syntax tree of a grammar file.
//!
//! Its shape is what Lark's documentation calls expansions: alternatives of sequences of expressions. Groups
//! are alternatives inside a sequence, so the depth of a node is the nesting that the source wrote, which the
//! parser limits.

use std::sync::Arc;

use maskwright_grammar::TokenSet;

use crate::source::Span;

/// A name and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
    /// Whether it names a terminal (upper case) or a rule.
    pub(crate) is_terminal: bool,
}

/// A right-hand side or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) span: Span,
    pub(crate) node: Node,
}

/// One level of a [`Tree`].
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Any of them; at least one.
    Alternatives(Vec<Tree>),
    /// All of them in turn.
    Sequence(Vec<Tree>),
    /// A sequence with an alias, which only names it.
    Alias(Box<Tree>),
    /// `[...]`: the alternatives or nothing.
    Maybe(Box<Tree>),
    /// `x?`, `x*`, `x+`, `x ~ n`, `x ~ n..m`.
    Repeat(Box<Tree>, Times),
    /// A rule, a template's parameter or a terminal.
    Symbol(Symbol),
    /// A string or pattern.
    Literal(Literal),
    /// `"a".."z"`: the two strings as written.
    Range(String, String),
    /// `%json {...}`: the texts of a JSON Schema.
    Schema(Schema),
    /// `<name>`, `<[ids]>`: one token of the vocabulary.
    Tokens(TokenSet),
    /// `name{argument, ...}`; the arguments are symbols, literals, ranges and instances.
    Instance(Name, Vec<Tree>),
}

/// The use of a name.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) name: Name,
    /// For a terminal inside a terminal, once its grammar file is read: the definition that it stands for,
    /// which a later definition of the same name does not change.
    pub(crate) target: Option<BodyId>,
}

/// How often something is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Times {
    /// `?`
    Optional,
    /// `*`
    Star,
    /// `+`
    Plus,
    /// `~ n`
    Exactly(u32),
    /// `~ n..m`, `{n,m}`
    Between(u32, u32),
    /// `{n,}`
    AtLeast(u32),
}

/// A string or pattern as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Literal {
    /// What stands between the quotes or slashes.
    pub(crate) body: String,
    /// The flags, sorted and distinct.
    pub(crate) flags: String,
    pub(crate) is_string: bool,
}

/// A JSON Schema in a grammar.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Schema {
    /// Its text.
    Text(Arc<str>),
    /// The file that it is in, until that is read.
    File(String),
}

/// A definition's right-hand side in the loader's arena.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BodyId(pub(crate) u32);

/// `name: ...` or `NAME: ...`.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: Name,
    /// The template's parameters.
    pub(crate) parameters: Vec<Name>,
    pub(crate) priority: i32,
    pub(crate) body: Tree,
}

/// `%import path.name -> alias`, `%import path (name, ...)`.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    pub(crate) span: Span,
    /// Whether the path starts with a dot.
    pub(crate) is_relative: bool,
    /// Whether it stands for `@name` in rules.
    pub(crate) is_at: bool,
    /// The grammar's path, without the names that are imported; not empty.
    pub(crate) path: Vec<String>,
    /// What is imported and what it is called here.
    pub(crate) names: Vec<(Name, String)>,
}

/// A statement of a grammar file.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Define(Definition),
    Override(Definition),
    Extend(Definition),
    Ignore(Tree),
    Declare(Vec<Name>),
    Import(Import),
    /// `%llguidance {...}`, whose options change nothing that is read here.
    Llguidance(Span),
}

impl Tree {
    /// The parts of this node, from left to right.
    pub(crate) fn parts(&self) -> &[Tree] {
        match &self.node {
            Node::Alternatives(parts) | Node::Sequence(parts) | Node::Instance(_, parts) => parts,
            Node::Alias(inner) | Node::Maybe(inner) | Node::Repeat(inner, _) => std::slice::from_ref(inner),
            Node::Symbol(_) | Node::Literal(_) | Node::Range(..) | Node::Schema(_) | Node::Tokens(_) => &[],
        }
    }

    /// The parts of this node, from left to right, to be changed.
    pub(crate) fn parts_mut(&mut self) -> &mut [Tree] {
        match &mut self.node {
            Node::Alternatives(parts) | Node::Sequence(parts) | Node::Instance(_, parts) => parts,
            Node::Alias(inner) | Node::Maybe(inner) | Node::Repeat(inner, _) => std::slice::from_mut(inner),
            Node::Symbol(_) | Node::Literal(_) | Node::Range(..) | Node::Schema(_) | Node::Tokens(_) => {
                &mut []
            }
        }
    }

    /// Calls `visit` with this node and all below it, from left to right, parents first.
    pub(crate) fn visit<'t>(&'t self, visit: &mut impl FnMut(&'t Tree)) {
        visit(self);
        for part in self.parts() {
            part.visit(visit);
        }
    }

    /// The JSON Schema that is all of the tree, if one is.
    pub(crate) fn as_schema(&self) -> Option<&Schema> {
        match &self.node {
            Node::Alternatives(parts) | Node::Sequence(parts) => match parts.as_slice() {
                [part] => part.as_schema(),
                _ => None,
            },
            Node::Schema(schema) => Some(schema),
            _ => None,
        }
    }

    /// Calls `visit` with every name that is used: symbols and templates.
    pub(crate) fn visit_names_mut(&mut self, visit: &mut impl FnMut(&mut Name)) {
        match &mut self.node {
            Node::Symbol(symbol) => visit(&mut symbol.name),
            Node::Instance(name, _) => visit(name),
            _ => {}
        }
        for part in self.parts_mut() {
            part.visit_names_mut(visit);
        }
    }
}
