//! `memsift completions` and `memsift man`: made from the definition of the command line, so that they cannot differ from
//! it. Knows that definition; nothing of what the commands do.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Args, BadInput, output};
use crate::settings::unknown_name;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionArgs {
    /// The shell.
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The command, in words as they are typed; the whole program when none is named.
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

/// Print what a shell needs to complete commands and flags.
pub fn completions(args: &CompletionArgs) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "memsift", &mut text);
    output::print_bytes(&text)
}

/// Print a manual page.
pub fn page(args: &ManArgs) -> anyhow::Result<()> {
    let mut command = Args::command();
    // Fills in the global parts, and names subcommands by all their words.
    command.build();
    for word in &args.words {
        let Some(found) = command.find_subcommand(word) else {
            let known: Vec<String> = command.get_subcommands().map(|known| known.get_name().to_owned()).collect();
            return Err(BadInput(match known.as_slice() {
                [] => format!("'{}' has no commands: leave '{word}' out", command.get_name()),
                _ => unknown_name("command", word, known.iter().map(String::as_str)),
            })
            .into());
        };
        command = found.clone();
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).source(concat!("memsift ", env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    output::print_bytes(&text)
}
