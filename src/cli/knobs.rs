//! One flag for every knob, made from the table of knobs. Knows the table; sets nothing by itself.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::BadInput;
use crate::settings::{KNOBS, Knob, KnobKind, Settings};

/// The knobs that were given, by name.
#[derive(Debug, Clone, Default)]
pub struct KnobArgs {
    given: Vec<(&'static Knob, String)>,
}

impl KnobArgs {
    /// Apply them to settings.
    ///
    /// # Errors
    /// A sentence that names the knob and what it takes.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), BadInput> {
        for (knob, text) in &self.given {
            knob.set_from(settings, text).map_err(|error| BadInput(format!("--{error}")))?;
        }
        Ok(())
    }
}

impl FromArgMatches for KnobArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for knob in KNOBS {
            if let Some(text) = matches.get_one::<String>(knob.name) {
                self.given.push((knob, text.clone()));
            }
        }
        Ok(())
    }
}

impl Args for KnobArgs {
    fn augment_args(command: Command) -> Command {
        let defaults = Settings::default();
        KNOBS.iter().fold(command, |command, knob| {
            let (value, takes) = match knob.kind {
                KnobKind::Number { .. } => ("NUMBER", String::new()),
                KnobKind::Choice(names) => ("NAME", format!(": {}", names.join(", "))),
                KnobKind::Flag => ("on|off", String::new()),
            };
            let default = (knob.get)(&defaults);
            let help = format!("{}{takes} [default: {default}]", knob.doc.trim().trim_end_matches('.'));
            command.arg(Arg::new(knob.name).long(knob.name).value_name(value).help(help).help_heading("Knobs"))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
