//! Text on its way to the clipboard of the terminal, wherever that runs (OSC 52). Knows how it is sent and how much of it
//! terminals take.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::model::Model;
use super::update::Effect;

/// Longest message, in bytes of base64: what most terminals take. They drop a longer one without a word.
const LONGEST: usize = 100_000;

/// Copy a text, or say that it is too long and where else it can be had.
pub fn copy(model: &mut Model, what: &str, text: String, instead: &str, effects: &mut Vec<Effect>) {
    let kilobytes = text.len().div_ceil(1000);
    if text.len().div_ceil(3) * 4 > LONGEST {
        let most = LONGEST / 4 * 3 / 1000;
        model.fail(format!(
            "{what} not copied: {kilobytes} kB, and most terminals take at most {most} kB; {instead} writes it"
        ));
        return;
    }
    effects.push(Effect::Copy(text));
    model.say(format!("{what} copied"));
}

/// The message to the terminal.
pub fn osc52(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_base64_between_escapes() {
        assert_eq!(osc52("é: 15 °C\n"), "\x1b]52;c;w6k6IDE1IMKwQwo=\x07");
        assert_eq!(osc52(""), "\x1b]52;c;\x07");
    }
}
