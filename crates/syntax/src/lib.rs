//! Front ends for regular expressions, choices and GBNF: text in, typed grammar out.
