//! A small server that imitates the model hub: files, broken transfers, and whatever a test makes of them.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use memsift::models::{ModelError, ModelSpec, PullOptions, PullProgress, Pulled, pull};
use sha2::{Digest, Sha256};

/// What the server does with one request: path and first byte asked for.
pub type Behaviour = Box<dyn Fn(&str, Option<usize>) -> Answer + Send + Sync>;

pub enum Answer {
    /// The body from that byte on, with 206 when the byte was asked for.
    Bytes(Vec<u8>, Option<usize>),
    /// Announces the whole body and hangs up after so many bytes.
    Cut(Vec<u8>, Option<usize>, usize),
    /// Announces the whole body and falls silent after so many bytes.
    Stall(Vec<u8>, usize),
    Status(u16),
}

/// What the server was asked for: path, and first byte of a range.
pub type Asked = Arc<Mutex<Vec<(String, Option<usize>)>>>;

/// Starts a server; returns its address and the requests it has seen.
pub fn serve(behaviour: Behaviour) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let behaviour = Arc::new(behaviour);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (behaviour, log) = (Arc::clone(&behaviour), Arc::clone(&log));
            // A client that went away is no matter for the next one.
            std::thread::spawn(move || drop(answer(stream.unwrap(), &behaviour, &log)));
        }
    });
    (address, seen)
}

fn answer(stream: TcpStream, behaviour: &Behaviour, log: &Mutex<Vec<(String, Option<usize>)>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut from = None;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
            from = range.trim().trim_end_matches('-').parse().ok();
        }
    }
    log.lock().unwrap().push((path.clone(), from));
    let mut out = stream;
    let mut head = |bytes: &[u8], from: Option<usize>| {
        let start = from.unwrap_or(0);
        let range = from
            .map_or(String::new(), |at| format!("Content-Range: bytes {at}-{}/{}\r\n", bytes.len() - 1, bytes.len()));
        let status = if from.is_some() { "206 Partial Content" } else { "200 OK" };
        write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}Connection: close\r\n\r\n",
            bytes.len() - start
        )?;
        Ok::<_, std::io::Error>(start)
    };
    match behaviour(&path, from) {
        Answer::Bytes(bytes, from) => {
            let start = head(&bytes, from)?;
            out.write_all(&bytes[start..])
        }
        Answer::Cut(bytes, from, n) => {
            let start = head(&bytes, from)?;
            out.write_all(&bytes[start..(start + n).min(bytes.len())])
        }
        Answer::Stall(bytes, n) => {
            let start = head(&bytes, None)?;
            out.write_all(&bytes[start..n])?;
            std::thread::sleep(Duration::from_millis(1500));
            Ok(())
        }
        Answer::Status(code) => {
            write!(out, "HTTP/1.1 {code} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
    }
}

/// SHA-256, lower-case hexadecimal.
pub fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Options that ask this server and wait for nothing long.
pub fn options(endpoint: &str, python: &Path) -> PullOptions {
    PullOptions {
        hub_endpoint: endpoint.to_owned(),
        connect_timeout: Duration::from_millis(500),
        stall_timeout: Duration::from_millis(500),
        python: python.to_path_buf(),
        pip_timeout: Duration::from_secs(20),
        lock_timeout: Duration::from_secs(20),
        ..PullOptions::default()
    }
}

/// No interpreter at all.
pub fn no_python() -> PathBuf {
    PathBuf::from("/nonexistent/python3")
}

/// A pull, and everything that it reported.
pub fn fetch(model: &ModelSpec, dir: &Path, options: &PullOptions) -> (Result<Pulled, ModelError>, Vec<PullProgress>) {
    let mut seen = Vec::new();
    let result = pull(model, dir, options, &mut |progress| seen.push(progress));
    (result, seen)
}

/// All files below a folder but locks.
pub fn names_below(dir: &Path) -> Vec<String> {
    fn walk(dir: &Path, top: &Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, top, out);
            } else {
                out.push(path.strip_prefix(top).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    let mut out = Vec::new();
    walk(dir, dir, &mut out);
    out.retain(|name| !name.ends_with(".lock"));
    out.sort();
    out
}
