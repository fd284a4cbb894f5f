//! One flag for every knob, made from the table of knobs. Knows the table; sets nothing by itself.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::{BadInput, config};
use crate::settings::{KNOBS, Knob, KnobKind, PRESETS, Settings};

/// The flag of a whole set of knobs.
const PRESET: &str = "preset";

/// The knobs that were given, by name.
#[derive(Debug, Clone, Default)]
pub struct KnobArgs {
    preset: Option<String>,
    given: Vec<(&'static Knob, String)>,
}

impl KnobArgs {
    /// Apply them to settings, after the knobs that the configuration names.
    ///
    /// # Errors
    /// A sentence that names the knob and what it takes.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), BadInput> {
        config::get().turn(settings);
        if let Some(preset) = &self.preset {
            *settings = Settings::preset(preset).map_err(|error| BadInput(format!("--preset: {error}")))?;
        }
        for (knob, text) in &self.given {
            turn(knob, settings, text).map_err(|error| BadInput(format!("--{error}")))?;
        }
        Ok(())
    }
}

/// Set a knob from words.
///
/// # Errors
/// A sentence that names the knob and what it takes.
pub fn turn(knob: &Knob, settings: &mut Settings, text: &str) -> Result<(), String> {
    let fraction = text.parse().is_ok_and(|number: f64| number.fract() != 0.0);
    // A step of a whole knob is a whole one: then a number in range can only be wrong by its fraction.
    let whole = matches!(knob.kind, KnobKind::Number { fine, .. } if fine >= 1.0);
    let more = if fraction && whole { " without a fraction" } else { "" };
    knob.set_from(settings, text).map_err(|error| format!("{error}{more}"))
}

impl FromArgMatches for KnobArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        if let Some(preset) = matches.get_one::<String>(PRESET) {
            self.preset = Some(preset.clone());
        }
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
        let names: Vec<&str> = PRESETS.iter().map(|(name, _, _)| *name).collect();
        let help =
            format!("The knobs of a paper, which single flags change: {} [default: smartsearch]", names.join(", "));
        let preset = Arg::new(PRESET).long(PRESET).value_name("NAME").help(help).help_heading("Knobs");
        let command = command.arg(preset);
        KNOBS.iter().fold(command, |command, knob| {
            let (value, takes) = match knob.kind {
                KnobKind::Number { .. } => ("NUMBER", String::new()),
                KnobKind::Choice(names) => ("NAME", format!(": {}", names.join(", "))),
                KnobKind::Flag => ("on|off", String::new()),
            };
            let default = (knob.get)(&defaults);
            let help = format!("{}{takes} [default: {default}]", knob.doc.trim().trim_end_matches('.'));
            // A negative number is a value out of range, not a flag.
            let arg = Arg::new(knob.name).long(knob.name).value_name(value).allow_negative_numbers(true);
            command.arg(arg.help(help).help_heading("Knobs"))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
