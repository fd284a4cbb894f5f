//! Streams that survive a closed pipe, and progress lines that hide when nobody looks. Knows streams only.

use std::io::{self, Write};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::store::clean::clean_line;

/// Print a text to standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

/// Print bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Say one line on standard error, fit for a terminal whatever the paths and arguments in it hold.
pub fn say(text: &str) {
    // When nobody reads it any more, the exit code still tells.
    let _ = writeln!(io::stderr().lock(), "{}", clean_line(text, &mut 0));
}

/// True when the reader of our output went away, which is no failure.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe))
}

/// A progress bar on standard error; invisible when that is no terminal.
pub fn bar(bytes: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    let numbers = if bytes { "{bytes}/{total_bytes}  {bytes_per_sec}" } else { "{pos}/{len}  {per_sec}" };
    let style = format!("{{msg:28}} {{bar:30}} {numbers}  {{eta}} left");
    bar.set_style(ProgressStyle::with_template(&style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Several bars below each other on standard error; invisible when that is no terminal.
pub fn bars() -> MultiProgress {
    MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10))
}
