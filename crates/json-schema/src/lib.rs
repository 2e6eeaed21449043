//! The JSON Schema front end: schema in, typed grammar and report out.
