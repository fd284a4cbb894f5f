//! The program in a real terminal: it starts, asks, turns a knob, survives a resize, leaves, and gives the terminal back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use memsift::store::import::import_texts;
use portable_pty::{CommandBuilder, ExitStatus, MasterPty, NativePtySystem, PtySize, PtySystem};

/// Long enough for the slowest machine; nothing is asserted about time.
const PATIENCE: Duration = Duration::from_secs(120);

struct Terminal {
    screen: vt100::Parser,
    bytes: Receiver<Vec<u8>>,
    keys: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
}

impl Terminal {
    fn start(db: &Path, home: &Path, args: &[&str]) -> Self {
        Self::start_with(db, home, args, &[])
    }

    fn start_with(db: &Path, home: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let args: Vec<&str> = std::iter::once(db.to_str().unwrap()).chain(args.iter().copied()).collect();
        Self::run(env!("CARGO_BIN_EXE_memsift"), &args, home, variables)
    }

    fn run(program: &str, args: &[&str], home: &Path, variables: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pair = NativePtySystem::default().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env("MEMSIFT_DATA", home.join("data"));
        command.env("MEMSIFT_CACHE", home.join("cache"));
        command.env("MEMSIFT_MODELS", common::models_dir());
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (send, bytes) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { screen: parser(40, 120), bytes, keys, master: pair.master, child }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    fn wait_for(&mut self, what: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.text().contains(what) {
            let left = until.saturating_duration_since(Instant::now());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("'{what}' never came:\n{}", self.text()),
            }
        }
    }

    /// Read until the program has left.
    fn end(mut self) -> (ExitStatus, vt100::Parser) {
        let status = self.child.wait().unwrap();
        drop(self.master);
        while let Ok(bytes) = self.bytes.recv_timeout(Duration::from_secs(5)) {
            self.screen.process(&bytes);
        }
        (status, self.screen)
    }
}

fn cells(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn parser(rows: u16, columns: u16) -> vt100::Parser {
    vt100::Parser::new(cells(rows), cells(columns), 0)
}

fn sample(dir: &Path) -> std::path::PathBuf {
    let db = dir.join("sample.db");
    let texts = [
        ("nell-and-idris.jsonl", include_str!("../sample-data/nell-and-idris.jsonl")),
        ("nell-and-idris.questions.jsonl", include_str!("../sample-data/nell-and-idris.questions.jsonl")),
    ];
    import_texts(&texts, &db, &mut |_| {}).unwrap();
    db
}

#[test]
fn it_asks_turns_a_knob_resizes_and_gives_the_terminal_back() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let before = std::fs::read(&db).unwrap();
    let mut terminal = Terminal::start(&db, dir.path(), &[]);
    terminal.wait_for("type a question, Enter asks");
    assert!(terminal.screen.screen().alternate_screen());
    terminal.press("What is the name of the boat?\r");
    terminal.wait_for("4 Fused");
    terminal.wait_for(" kept");
    assert!(terminal.text().contains("α 0.030"));
    terminal.press("+");
    terminal.wait_for("α 0.031");
    terminal.press("[");
    terminal.wait_for("budget 1950");
    let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
    terminal.screen.screen_mut().set_size(cells(24), cells(80));
    terminal.master.resize(size).unwrap();
    terminal.wait_for("[4 Fused]");
    // With a budget of a few words passages fall: they are marked where they stood.
    terminal.press(":set budget 30\r");
    terminal.wait_for("budget 30");
    terminal.press("g");
    terminal.wait_for(" - ");
    let trace = dir.path().join("trace.json");
    terminal.press(&format!(":export {}\r", trace.display()));
    terminal.wait_for("trace written to");
    assert!(std::fs::read_to_string(&trace).unwrap().contains("What is the name of the boat?"));
    terminal.press("?");
    terminal.wait_for("Help");
    terminal.press("\u{3}");
    let (status, screen) = terminal.end();
    assert!(status.success(), "{status:?}");
    let screen = screen.screen();
    assert!(!screen.alternate_screen(), "the alternate screen is left");
    assert!(!screen.hide_cursor(), "the cursor is shown again");
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse is given back");
    assert!(!screen.bracketed_paste(), "paste is as it was");
    assert_eq!(std::fs::read(&db).unwrap(), before, "the database is not changed");
}

/// The colour in the middle of the screen, once there is one.
fn ground(terminal: &mut Terminal) -> vt100::Color {
    loop {
        match terminal.screen.screen().cell(20, 60).unwrap().bgcolor() {
            vt100::Color::Default => terminal.screen.process(&terminal.bytes.recv_timeout(PATIENCE).unwrap()),
            colour => return colour,
        }
    }
}

#[test]
fn the_terminal_says_its_ground_and_the_answer_is_never_typed() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[theme]\ndark = 'nord'\nlight = 'catppuccin-latte'\n").unwrap();
    let variables = [("MEMSIFT_CONFIG", config.to_str().unwrap()), ("COLORTERM", "truecolor")];
    let (light, dark) = (vt100::Color::Rgb(0xef, 0xf1, 0xf5), vt100::Color::Rgb(0x2e, 0x34, 0x40));
    for (answer, late, wanted) in [
        (Some("\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\"), false, light),
        (Some("\u{1b}]11;rgb:1111/1111/1111\u{7}"), false, dark),
        (Some("\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\"), true, dark),
        (None, false, dark),
    ] {
        let mut terminal = Terminal::start_with(&db, dir.path(), &[], &variables);
        if !late && let Some(answer) = answer {
            let mut said = Vec::new();
            while !said.windows(7).any(|bytes| bytes == b"\x1b]11;?\x1b") {
                let bytes = terminal.bytes.recv_timeout(PATIENCE).unwrap();
                terminal.screen.process(&bytes);
                said.extend(bytes);
            }
            terminal.press(answer);
        }
        terminal.wait_for("type a question, Enter asks");
        if late && let Some(answer) = answer {
            terminal.press(answer);
        }
        // On a machine that is very busy even the answer in time comes too late; what is typed is clean all the same.
        let found = ground(&mut terminal);
        assert!(found == wanted || (found == dark && !late && answer.is_some()), "{found:?}");
        terminal.press("zebra");
        terminal.wait_for("zebra");
        let text = terminal.text();
        assert!(!text.contains("rgb") && !text.contains("11;") && text.contains(" zebra"), "{text}");
        terminal.press("\u{3}");
        assert!(terminal.end().0.success());
    }
    // Who names one theme is asked nothing.
    let mut terminal = Terminal::start_with(&db, dir.path(), &["--theme", "mono"], &variables);
    terminal.wait_for("type a question, Enter asks");
    assert_eq!(terminal.screen.screen().cell(20, 60).unwrap().bgcolor(), vt100::Color::Default);
    terminal.press("\u{3}");
    assert!(terminal.end().0.success());
}

#[test]
fn a_question_on_the_command_line_is_asked_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let question = "What made Nell nearly give up on the boat, and what changed her mind?";
    let mut terminal = Terminal::start(&db, dir.path(), &["--question", question, "--ascii", "--no-mouse"]);
    terminal.wait_for("gold 0/2 kept, 2 found");
    assert_eq!(terminal.screen.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    terminal.press("q");
    let (status, screen) = terminal.end();
    assert!(status.success(), "{status:?}");
    assert!(!screen.screen().alternate_screen());
}

#[test]
fn a_storm_of_sizes_ends_where_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let mut terminal = Terminal::start(&db, dir.path(), &["--question", "Who is Fitz?"]);
    terminal.wait_for(" kept");
    let sizes = [(1, 1), (5, 20), (60, 200), (10, 40), (2, 300), (100, 3), (40, 120)];
    for (rows, columns) in sizes.into_iter().cycle().take(70).chain([(24, 80)]) {
        terminal.screen.screen_mut().set_size(cells(rows), cells(columns));
        terminal.master.resize(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }).unwrap();
        terminal.press("j]");
    }
    terminal.wait_for("[4 Fused]");
    terminal.press(":set budget 1234\r");
    terminal.wait_for("budget 1234");
    terminal.press("q");
    assert!(terminal.end().0.success());
}

/// In a shell with job control, because nobody can stop a program that nobody could continue.
#[cfg(unix)]
#[test]
fn it_goes_to_the_background_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let mut terminal = Terminal::run("sh", &["-i"], dir.path(), &[("PS1", "shell: "), ("ENV", "/dev/null")]);
    terminal.wait_for("shell: ");
    terminal.press(&format!("{} {} --question 'Who is Fitz?'\r", env!("CARGO_BIN_EXE_memsift"), db.display()));
    terminal.wait_for(" kept");
    terminal.press("\u{1a}");
    terminal.wait_for("Stopped");
    let screen = terminal.screen.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor(), "the shell has its terminal");
    terminal.press("fg\r");
    terminal.wait_for("4 Fused");
    assert!(terminal.screen.screen().alternate_screen());
    terminal.press("]");
    terminal.wait_for("budget 2050");
    terminal.press("q");
    // What is typed before the shell asks for it is lost with the program.
    while terminal.text().matches("shell:").count() < 3 {
        let bytes = terminal.bytes.recv_timeout(PATIENCE).unwrap();
        terminal.screen.process(&bytes);
    }
    terminal.press("echo $((6 * 7)) words\r");
    terminal.wait_for("42 words");
    terminal.press("exit\r");
    assert!(terminal.end().0.success());
}

#[cfg(unix)]
#[test]
fn whoever_ends_the_program_gets_the_terminal_back() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    for signal in ["-TERM", "-HUP"] {
        let mut terminal = Terminal::start(&db, dir.path(), &[]);
        terminal.wait_for("type a question, Enter asks");
        assert!(terminal.screen.screen().alternate_screen() && terminal.screen.screen().bracketed_paste());
        let id = terminal.child.process_id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let (_, screen) = terminal.end();
        let screen = screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste(), "{signal}");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "{signal}");
    }
}

/// How often any thread of a process has waited for something so far.
#[cfg(target_os = "linux")]
fn waits(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let of = |task: std::fs::DirEntry| -> u64 {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    tasks.map(|task| of(task.unwrap())).sum()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_wakes_up_while_nobody_does_anything() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let mut terminal = Terminal::start(&db, dir.path(), &["--question", "Who is Fitz?"]);
    terminal.wait_for(" kept");
    let process = terminal.child.process_id().unwrap();
    // Threads of a pool go to sleep some time after their last work; then a second goes by without any waking.
    let quiet = (0..30).any(|_| {
        let before = waits(process);
        std::thread::sleep(Duration::from_secs(1));
        waits(process) == before
    });
    assert!(quiet, "something wakes up all the time");
    terminal.press("q");
    assert!(terminal.end().0.success());
}

#[test]
fn bytes_are_not_sent_to_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let pair = NativePtySystem::default().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_memsift"));
    command.args(["ask", "Who is Fitz?", "--format", "msgpack", "--db"]);
    command.arg(&db);
    command.env("MEMSIFT_DATA", dir.path().join("data"));
    command.env("MEMSIFT_CACHE", dir.path().join("cache"));
    command.env("MEMSIFT_MODELS", dir.path().join("models"));
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut said = Vec::new();
    // A terminal whose program has left gives an error on some systems and an end on others.
    let _ = reader.read_to_end(&mut said);
    let said = String::from_utf8(said).unwrap();
    assert_eq!(child.wait().unwrap().exit_code(), 2, "{said}");
    assert!(said.contains("not fit for a terminal") && said.contains("--output trace.msgpack"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
