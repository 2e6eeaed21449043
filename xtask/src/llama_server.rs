//! llama-server and `examples/llama.cpp`, built with the C libraries: for `cargo xtask hosts llama-server`.
//!
//! llama.cpp's sources are those of llama-cpp-python's source distribution, and stay as they are: with
//! `LLAMA_USE_LLGUIDANCE` they call the functions of `llguidance.h`, and `libmaskwright_llguidance` has
//! these. The first build takes a quarter of an hour on two cores.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::c_library;
use crate::commands::{root, run};
use crate::python_env::Environment;

/// llama-cpp-python of `python/hosts/requirements.txt`.
const VERSION: &str = "0.3.36";

/// The programs that were built.
pub(crate) struct Programs {
    /// `llama-server`.
    pub(crate) server: PathBuf,
    /// `examples/llama.cpp`.
    pub(crate) sampler: PathBuf,
}

/// Builds both, in `target/hosts-llama.cpp`.
pub(crate) fn build(environment: &Environment) -> anyhow::Result<Programs> {
    let folder = root().join("target/hosts-llama.cpp");
    let (prefix, made) = (folder.join("prefix"), folder.join("build"));
    let sources = sources(environment, &folder)?.join("vendor/llama.cpp");
    c_library::install(&prefix)?;
    let tools = Tools::of(environment)?;
    let flags = format!("-DLLAMA_USE_LLGUIDANCE -I{}", prefix.join("include").display());
    let library = prefix.join("lib/libmaskwright_llguidance.a");
    tools.configure(
        &sources,
        &made,
        &[
            "-DBUILD_SHARED_LIBS=OFF".into(),
            "-DLLAMA_LLGUIDANCE=OFF".into(),
            "-DLLAMA_USE_PREBUILT_UI=OFF".into(),
            "-DLLAMA_BUILD_TESTS=OFF".into(),
            "-DLLAMA_BUILD_EXAMPLES=OFF".into(),
            format!("-DCMAKE_CXX_FLAGS={flags}"),
            format!("-DCMAKE_CXX_STANDARD_LIBRARIES={} -ldl -lm", library.display()),
        ],
    )?;
    let programs =
        Programs { server: made.join("bin/llama-server"), sampler: folder.join("example/sampler") };
    // Ninja does not know that they depend on our libraries.
    for program in [&programs.server, &programs.sampler] {
        if program.exists() {
            std::fs::remove_file(program)?;
        }
    }
    tools.build(&made, "llama-server")?;
    let example = [
        format!("-DLLAMA_CPP={}", sources.display()),
        format!("-DLLAMA_CPP_BUILD={}", made.display()),
        format!("-DMASKWRIGHT={}", prefix.display()),
    ];
    tools.configure(&root().join("examples/llama.cpp"), &folder.join("example"), &example)?;
    tools.build(&folder.join("example"), "sampler")?;
    Ok(programs)
}

/// The unpacked source distribution, downloaded if it is not there.
fn sources(environment: &Environment, folder: &Path) -> anyhow::Result<PathBuf> {
    let unpacked = folder.join(format!("llama_cpp_python-{VERSION}"));
    if !unpacked.exists() {
        let python = || Command::new(environment.python());
        let wanted = format!("llama-cpp-python=={VERSION}");
        let options = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python"];
        run(python().args(options).arg("--dest").arg(folder).arg(wanted))?;
        let archive = folder.join(format!("llama_cpp_python-{VERSION}.tar.gz"));
        run(python().args(["-m", "tarfile", "-e"]).arg(archive).arg(folder))?;
    }
    Ok(unpacked)
}

/// CMake and Ninja.
struct Tools {
    cmake: PathBuf,
    ninja: PathBuf,
}

impl Tools {
    /// Those of the machine, or their wheels in the environment.
    fn of(environment: &Environment) -> anyhow::Result<Tools> {
        let tool = |name: &str| -> anyhow::Result<PathBuf> {
            let asked =
                Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            if asked.is_ok_and(|status| status.success()) {
                return Ok(name.into());
            }
            if !environment.program(name).exists() {
                run(environment.pip().arg(name))?;
            }
            Ok(environment.program(name))
        };
        Ok(Tools { cmake: tool("cmake")?, ninja: tool("ninja")? })
    }

    fn configure(&self, sources: &Path, made: &Path, options: &[String]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.cmake);
        command.arg("-S").arg(sources).arg("-B").arg(made);
        command.args(["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]);
        // A name without a folder is looked up by CMake itself.
        if self.ninja.is_absolute() {
            command.arg(format!("-DCMAKE_MAKE_PROGRAM={}", self.ninja.display()));
        }
        run(command.args(options))
    }

    fn build(&self, made: &Path, target: &str) -> anyhow::Result<()> {
        run(Command::new(&self.cmake).arg("--build").arg(made).args(["--target", target]))
    }
}
