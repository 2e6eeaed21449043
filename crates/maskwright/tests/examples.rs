//! The programs of `examples/` run, and what they assert holds.

#![allow(
    clippy::duplicate_mod,
    reason = "each example has the stand-in for itself, as it has when it is built alone"
)]

#[path = "../examples/candle.rs"]
pub mod candle;
#[path = "../examples/diffusion.rs"]
pub mod diffusion;
#[path = "../examples/own_loop.rs"]
pub mod own_loop;
#[path = "../examples/server.rs"]
pub mod server;
#[path = "../examples/tool_calls.rs"]
pub mod tool_calls;

#[test]
fn own_loop_runs() {
    own_loop::main().unwrap();
}

#[test]
fn server_runs() {
    server::main().unwrap();
}

#[test]
fn tool_calls_runs() {
    tool_calls::main().unwrap();
}

#[test]
fn diffusion_runs() {
    diffusion::main().unwrap();
}

#[test]
fn candle_runs() {
    candle::main().unwrap();
}

/// A new example is listed here too; those that measure are run by `cargo xtask bench`.
#[test]
fn all_examples_are_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(".rs")?.to_owned())).collect();
    names.sort();
    let run = ["candle", "diffusion", "own_loop", "server", "tool_calls"];
    let measuring = ["instructions", "replay"];
    assert_eq!(names.iter().filter(|name| !measuring.contains(&name.as_str())).collect::<Vec<_>>(), run);
}
