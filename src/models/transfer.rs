//! Fetches the files of a model from the hub, several at once. Knows threads and who reports what; not how one file
//! comes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use super::hub::{Hub, HubFailure, Wanted};
use super::{ModelFile, PullProgress, Stage};

/// Files that come at once. More would not be faster, and hubs are slow to answer those who ask for much.
const AT_ONCE: usize = 4;

/// Brings all files into `folder`, smallest first so that a wrong version is noticed early. When one fails, no further
/// one is begun, large ones are left for the next pull to go on with, and the first failure in the order is told.
pub(super) fn fetch_all(
    hub: &Hub,
    wanted: &[Wanted],
    folder: &Path,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<Vec<ModelFile>, HubFailure> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Mutex<Vec<(usize, Result<String, HubFailure>)>> = Mutex::new(Vec::new());
    let (tell, told) = mpsc::channel::<(usize, u64)>();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(wanted.len()) {
            let tell = tell.clone();
            scope.spawn(|| work(hub, wanted, folder, &next, &stop, &results, tell));
        }
        // The last worker that ends must be the last who can tell anything.
        drop(tell);
        let total = wanted.iter().map(|file| file.size).sum();
        let mut there = vec![0; wanted.len()];
        for (at, bytes) in told {
            if let (Some(file), Some(slot)) = (wanted.get(at), there.get_mut(at)) {
                *slot = bytes;
                let stage = Stage::Hub { file: file.name.clone(), done: bytes, size: file.size };
                progress(PullProgress { stage, done: there.iter().sum(), total });
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    let stopped = |result: &Result<String, HubFailure>| matches!(result, Err(HubFailure::Stopped));
    if let Some(at) = results.iter().position(|(_, result)| result.is_err() && !stopped(result)) {
        results.swap(0, at);
    }
    let mut files = Vec::with_capacity(wanted.len());
    for (at, result) in results {
        let sha256 = result?;
        files.extend(wanted.get(at).map(|file| ModelFile { name: file.name.clone(), size: file.size, sha256 }));
    }
    Ok(files)
}

fn work(
    hub: &Hub,
    wanted: &[Wanted],
    folder: &Path,
    next: &AtomicUsize,
    stop: &AtomicBool,
    results: &Mutex<Vec<(usize, Result<String, HubFailure>)>>,
    tell: mpsc::Sender<(usize, u64)>,
) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(file) = wanted.get(at) else { return };
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut report = |bytes| {
            // Nobody listens only when the pull is over.
            let _ = tell.send((at, bytes));
        };
        report(0);
        let result = hub.fetch(file, folder, stop, &mut report);
        if result.is_err() {
            stop.store(true, Ordering::Relaxed);
        } else {
            report(file.size);
        }
        results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
    }
}
