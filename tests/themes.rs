//! The themes of the program measured: text can be read on its ground, and what must be told apart stays apart for readers
//! who see red or green differently, with all colours, with 256 and with sixteen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use memsift::ui::theme::colour::{Rgb, contrast, distance, lab, light};
use memsift::ui::theme::{Depth, READABLE, Role, Themes};
use memsift::ui::{Glyphs, Theme};
use ratatui::style::{Color, Modifier, Style};

/// What frames need: they carry no text, and a screen full of strong lines is hard to read.
const FRAME: f64 = 2.5;
/// What text in named colours has with the values of xterm; every terminal has its own.
const NAMED: f64 = 4.0;
/// Distance in CIELAB that pairs have on which reading rests, whoever reads.
const FAR: f64 = 20.0;
/// Distance that all others have. Where it is less than `FAR`, glyph, place or weight tells them apart as well.
const APART: f64 = 10.0;
/// The meanings that are read side by side.
const STATES: [Role; 6] = [Role::Gold, Role::Kept, Role::Dropped, Role::Cut, Role::Ce, Role::Colbert];
/// The pairs on which reading rests.
const MAIN: [(Role, Role); 4] =
    [(Role::Gold, Role::Kept), (Role::Gold, Role::Dropped), (Role::Kept, Role::Dropped), (Role::Ce, Role::Colbert)];

type Matrix = [[f64; 3]; 3];

/// How colours look to different eyes: matrices on linear light at full severity, from Machado, Oliveira and Fernandes, "A
/// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, table 1.
const EYES: [(&str, Matrix); 3] = [
    ("most", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
];

fn seen(colour: Rgb, eyes: &Matrix) -> [f64; 3] {
    let light = light(colour);
    lab(eyes.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0)))
}

fn rgb(colour: Option<Color>) -> Option<Rgb> {
    match colour? {
        Color::Rgb(r, g, b) => Some([r, g, b]),
        Color::Indexed(at @ 16..=231) => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let at = at - 16;
            Some([level(at / 36), level(at / 6 % 6), level(at % 6)])
        }
        Color::Indexed(at @ 232..) => Some([8 + 10 * (at - 232); 3]),
        named => memsift::ui::theme::colour::SIXTEEN.iter().find(|(colour, _)| *colour == named).map(|(_, rgb)| *rgb),
    }
}

fn theme(name: &str, depth: Depth) -> Theme {
    Themes::default().fit(depth).named(name, Glyphs::UNICODE).unwrap().0
}

/// The themes that say their colours themselves.
fn coloured() -> impl Iterator<Item = &'static str> {
    Theme::names().filter(|name| theme(name, Depth::Full).ground().is_some())
}

#[test]
fn measures_are_what_others_measure() {
    let close = |a: f64, b: f64| (a - b).abs() < 0.02;
    assert!(close(contrast([0; 3], [255; 3]), 21.0));
    assert!(close(contrast([0x76; 3], [255; 3]), 4.54));
    for (colour, wanted) in [
        ([255, 255, 255], [100.0, 0.0, 0.0]),
        ([255, 0, 0], [53.24, 80.09, 67.2]),
        ([0, 0, 255], [32.3, 79.19, -107.86]),
    ] {
        let found = lab(light(colour));
        assert!(found.iter().zip(wanted).all(|(a, b)| close(*a, b)), "{colour:?}: {found:?}");
    }
    // Greys are grey to all eyes.
    for (name, eyes) in &EYES {
        assert!(distance(seen([128; 3], eyes), lab(light([128; 3]))) < 0.1, "{name}");
    }
    let (red, green) = ([0xd0, 0x30, 0x30], [0x70, 0x70, 0x10]);
    let far = |eyes: &Matrix| distance(seen(red, eyes), seen(green, eyes));
    assert!(far(&EYES[0].1) > 60.0 && far(&EYES[2].1) < 20.0);
}

#[test]
fn there_are_dark_and_light_ones() {
    assert_eq!(Theme::names().count(), 16);
    let light =
        coloured().filter(|name| memsift::ui::theme::colour::is_light(theme(name, Depth::Full).ground().unwrap()));
    assert_eq!(light.collect::<Vec<_>>(), ["catppuccin-latte", "gruvbox-light", "rose-pine-dawn", "solarized-light"]);
}

#[test]
fn text_can_be_read_on_its_ground() {
    let mut faults = Vec::new();
    for depth in [Depth::Full, Depth::Indexed, Depth::Sixteen] {
        for name in coloured() {
            let theme = theme(name, depth);
            let mut least = (f64::MAX, "");
            for (role_name, role) in Role::ALL {
                let style = theme.style(role);
                let (fore, back) = (rgb(style.fg).unwrap(), rgb(style.bg).unwrap());
                let found = contrast(fore, back);
                let needed = match (role, depth) {
                    (Role::Border, _) => FRAME,
                    (_, Depth::Sixteen) => NAMED,
                    _ => READABLE,
                };
                if found < needed {
                    faults.push(format!("{name}, {depth:?}, {role_name}: contrast {found:.2}"));
                }
                if role != Role::Border && found < least.0 {
                    least = (found, role_name);
                }
            }
            println!("{depth:?} {name}: {:.2} ({})", least.0, least.1);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn states_stay_apart_for_all_eyes() {
    let mut faults = Vec::new();
    for depth in [Depth::Full, Depth::Indexed] {
        for name in coloured() {
            let theme = theme(name, depth);
            let fore = |role: Role| rgb(theme.style(role).fg).unwrap();
            for (at, one) in STATES.iter().enumerate() {
                for other in &STATES[at + 1..] {
                    let is_main = MAIN.contains(&(*one, *other)) || MAIN.contains(&(*other, *one));
                    let needed = match (is_main, depth) {
                        (true, _) => FAR,
                        // A cube of six steps is coarse: there the weight of the letters may do.
                        (false, Depth::Indexed) if differ_in_weight(&theme, *one, *other) => 0.0,
                        (false, _) => APART,
                    };
                    for (eyes, matrix) in &EYES {
                        let found = distance(seen(fore(*one), matrix), seen(fore(*other), matrix));
                        if found < needed {
                            faults
                                .push(format!("{name}, {depth:?}, {eyes}: {one:?} and {other:?} are {found:.1} apart"));
                        }
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

fn differ_in_weight(theme: &Theme, one: Role, other: Role) -> bool {
    let weight = |role| theme.style(role).add_modifier & (Modifier::BOLD | Modifier::DIM | Modifier::ITALIC);
    weight(one) != weight(other)
}

#[test]
fn with_few_colours_states_still_look_different() {
    for name in Theme::names().filter(|name| *name != "mono") {
        for depth in [Depth::Full, Depth::Indexed, Depth::Sixteen] {
            let theme = theme(name, depth);
            for (one, other) in MAIN {
                assert_ne!(theme.style(one), theme.style(other), "{name}, {depth:?}: {one:?} and {other:?}");
            }
            assert_ne!(theme.style(Role::Text), theme.style(Role::Selected), "{name}, {depth:?}");
        }
    }
}

#[test]
fn mono_and_terminal_say_it_by_weight() {
    let mono = theme("mono", Depth::Full);
    for (one, other) in [(Role::Gold, Role::Kept), (Role::Gold, Role::Dropped), (Role::Kept, Role::Dropped)] {
        assert_ne!(mono.style(one).add_modifier, mono.style(other).add_modifier);
    }
    let terminal = theme("terminal", Depth::Full);
    assert_ne!(terminal.style(Role::Kept).add_modifier, terminal.style(Role::Dropped).add_modifier);
    // Whatever the sixteen are, names are not turned into others.
    assert_eq!(theme("terminal", Depth::Sixteen), terminal);
    assert_eq!(mono.style(Role::Text), Style::new());
}
