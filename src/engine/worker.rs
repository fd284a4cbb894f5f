//! The engine's thread: takes jobs, owns database, models and cache, and answers with events. The newest question wins;
//! an older one stops at its next batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::choice::{RankerChoice, SlotName};
use super::follow::Follower;
use super::job::{Ask, Event, Job, ModelState, ModelStatus, Progress};
use super::mapper::Mapper;
use super::models::{Models, TAGGER};
use super::pipeline::{Listener, Pipeline};
use super::source::{Renewed, Source};
use super::sweep::Sweeper;
use super::{count, inspect, oracle};
use crate::history::Conversation;
use crate::rank::Cache;
use crate::scored::Scored;
use crate::store::marks::Marks;
use crate::store::{Reading, StoreError};

/// Where the engine finds its files.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The models directory, and which models fill the slots.
    pub rankers: RankerChoice,
    /// The cache database; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// The file with marks made by hand; `None` keeps nothing.
    pub marks: Option<PathBuf>,
    /// How databases are read that do not speak for themselves.
    pub reading: Reading,
}

/// The running engine. Dropping it stops the thread.
pub struct Engine {
    jobs: Sender<Job>,
    signals: Arc<Signals>,
    thread: Option<JoinHandle<()>>,
}

/// What reaches a job that is already running.
#[derive(Default)]
struct Signals {
    generation: AtomicU64,
    stop: AtomicBool,
    /// How many jobs were handed over.
    sent: AtomicU64,
}

impl Engine {
    /// Start the thread; it loads the models first and answers jobs as they come.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(options: EngineOptions, say: impl Fn(Event) + Send + Sync + 'static) -> std::io::Result<Self> {
        let (jobs, inbox) = channel();
        let signals = Arc::new(Signals::default());
        let shared = Arc::clone(&signals);
        let thread = std::thread::Builder::new().name("engine".into()).spawn(move || {
            let say = Arc::new(say);
            let tell = Arc::clone(&say);
            let work = move || Worker::new(options, shared, Box::new(move |event| tell(event))).run(&inbox);
            // A fault in here must not leave the screen waiting for ever: it is said like any other trouble.
            if let Err(fault) = catch_unwind(AssertUnwindSafe(work)) {
                say(Event::Broken(format!(
                    "the engine stopped ({}): leave with q and start again; what is on the screen stays",
                    words_of(fault.as_ref())
                )));
            }
        })?;
        Ok(Self { jobs, signals, thread: Some(thread) })
    }

    /// Hand over a job. Never blocks; a question or a stop reaches a running question at its next batch.
    pub fn send(&self, job: Job) {
        match &job {
            Job::Ask(ask) => {
                self.signals.stop.store(false, Ordering::SeqCst);
                self.signals.generation.store(ask.generation, Ordering::SeqCst);
            }
            Job::Stop | Job::Quit => self.signals.stop.store(true, Ordering::SeqCst),
            Job::Resume => self.signals.stop.store(false, Ordering::SeqCst),
            _ => {}
        }
        // The thread only ends after Quit, and then nobody waits for an answer.
        let _ = self.jobs.send(job);
        // After the job: whoever sees the new number finds the job waiting.
        self.signals.sent.fetch_add(1, Ordering::SeqCst);
    }
}

/// What a panic said.
fn words_of(fault: &(dyn std::any::Any + Send)) -> &str {
    let words = fault.downcast_ref::<String>().map(String::as_str);
    words.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or("no words")
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.send(Job::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type Say = Box<dyn Fn(Event) + Send>;

struct Worker {
    pipeline: Pipeline,
    source: Option<Source>,
    follower: Follower,
    mapper: Mapper,
    marks: Option<Marks>,
    options: EngineOptions,
    signals: Arc<Signals>,
    last: Option<Ask>,
    sweeper: Sweeper,
    say: Say,
}

impl Worker {
    fn new(options: EngineOptions, signals: Arc<Signals>, say: Say) -> Self {
        let cache = options.cache.as_deref().map_or_else(Cache::in_memory, Cache::open);
        let marks = match options.marks.as_deref().map(Marks::load) {
            Some(Ok(marks)) => {
                if let Some(notice) = marks.notice() {
                    say(Event::Notice(notice.to_owned()));
                }
                Some(marks)
            }
            Some(Err(error)) => {
                say(Event::Notice(error.to_string()));
                None
            }
            None => None,
        };
        let pipeline = Pipeline::new(Models::none("still loading"), cache);
        Self {
            pipeline,
            source: None,
            follower: Follower::default(),
            mapper: Mapper::default(),
            marks,
            options,
            signals,
            last: None,
            sweeper: Sweeper::default(),
            say,
        }
    }

    fn run(mut self, inbox: &Receiver<Job>) {
        // The database comes before the models, so that the first frame has something to show.
        let mut waiting: Vec<Job> = Vec::new();
        while let Ok(job) = inbox.try_recv() {
            match job {
                Job::Quit => return,
                Job::Open(_) | Job::Load(_) | Job::Preview(_) => self.handle(job),
                other => waiting.push(other),
            }
        }
        self.load_models();
        for job in waiting {
            self.handle(job);
        }
        loop {
            let sent = self.signals.sent.load(Ordering::SeqCst);
            let job = match (self.sweeper.is_idle(), self.follower.rest()) {
                (false, _) => inbox.try_recv(),
                (true, None) => inbox.recv().map_err(|_| TryRecvError::Disconnected),
                (true, Some(rest)) => inbox.recv_timeout(rest).map_err(|error| match error {
                    RecvTimeoutError::Timeout => TryRecvError::Empty,
                    RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
                }),
            };
            match job {
                Ok(Job::Quit) | Err(TryRecvError::Disconnected) => return,
                Ok(job) => self.handle(job),
                Err(TryRecvError::Empty) if self.follower.is_due() => self.look(),
                // The sweep has the time that nothing else wants, and gives way as soon as something comes.
                Err(TryRecvError::Empty) => {
                    let signals = Arc::clone(&self.signals);
                    let interrupted = move || signals.sent.load(Ordering::SeqCst) != sent;
                    self.sweeper.step(&mut self.pipeline, &interrupted).into_iter().for_each(&self.say);
                }
            }
            for notice in self.pipeline.notices() {
                (self.say)(Event::Notice(notice));
            }
        }
    }

    fn load_models(&mut self) {
        let status = |role: &'static str, name: &str, state: ModelState| {
            Event::Model(ModelStatus { role, name: name.to_owned(), state })
        };
        let rankers = &self.options.rankers;
        let mut slots = vec![SlotName::Colbert, SlotName::Ce];
        // Where one model serves both, one line says it.
        if rankers.dense != rankers.colbert {
            slots.push(SlotName::Dense);
        }
        (self.say)(status("tagger", TAGGER, ModelState::Loading));
        for slot in &slots {
            (self.say)(status(slot.name(), &rankers.slot(*slot).name(), ModelState::Loading));
        }
        let began = Instant::now();
        let models = Models::load(rankers);
        let seconds = began.elapsed().as_secs_f64();
        let state =
            |reason: Option<&str>| reason.map_or(ModelState::Ready(seconds), |why| ModelState::Absent(why.to_owned()));
        (self.say)(status("tagger", TAGGER, state(models.tagger.as_ref().err().map(String::as_str))));
        for slot in slots {
            let name = rankers.slot(slot).name();
            (self.say)(status(slot.name(), &name, state(models.reason(slot))));
        }
        self.pipeline.set_models(models);
    }

    fn handle(&mut self, job: Job) {
        match job {
            Job::Open(path) => self.open(path, self.options.reading.clone()),
            Job::OpenMapped(path, map) => {
                let reading = Reading { store: None, map: Some(map), ..self.options.reading.clone() };
                self.open(path, reading);
            }
            Job::Outline(path) => {
                let open = self.source.as_ref().and_then(|source| source.mapping(&path));
                (self.say)(self.mapper.outline(&path, open));
            }
            Job::Preview(map) => {
                let event = self.mapper.preview(map, &self.options.reading);
                event.into_iter().for_each(&self.say);
            }
            Job::Reload => self.reload(false),
            Job::Follow(on) => self.follower.follow(on),
            Job::Load(id) => match self.load(&id) {
                Some(Ok(conversation)) => {
                    self.sweeper.forget();
                    let marks = self.marks_of(&conversation.id);
                    (self.say)(Event::Loaded(conversation));
                    (self.say)(Event::Marks(marks));
                }
                Some(Err(error)) => (self.say)(Event::Failed(error.to_string())),
                None => (self.say)(Event::Failed("no database is open: open one first".to_owned())),
            },
            Job::Ask(ask) => {
                self.last = Some(ask);
                self.ask();
            }
            Job::Resume => self.ask(),
            Job::Pinned(ask) => self.pinned(&ask),
            Job::Sweep(ask) => self.sweeper.start(ask),
            Job::Contrast(ask) => self.sweeper.contrast(ask),
            Job::Oracle(ask) => (self.say)(oracle::answer(&mut self.pipeline, &ask)),
            Job::StopSweep => self.sweeper.stop(),
            Job::Inspect { generation, passage } => {
                let answer = inspect::answer(&mut self.pipeline, self.last.as_ref(), generation, passage);
                answer.into_iter().for_each(&self.say);
            }
            Job::Count(text) => (self.say)(count::answer(self.pipeline.models(), text)),
            Job::Mark { conversation, question, turns } => self.mark(&conversation, &question, &turns),
            Job::Stop | Job::Quit => {}
        }
    }

    fn open(&mut self, path: PathBuf, reading: Reading) {
        let told = reading.map.is_some() || reading.store.is_some();
        match Source::open(path.clone(), reading) {
            Ok((source, opened)) => {
                self.source = Some(source);
                self.mapper = Mapper::default();
                (self.say)(opened);
            }
            Err(StoreError::WrongSchema { .. }) if !told => {
                self.mapper.unknown(&path, &self.options.reading).into_iter().for_each(&self.say);
            }
            Err(error) => (self.say)(Event::Failed(error.to_string())),
        }
    }

    /// One conversation of the open database; of a copy when another program has locked it meanwhile.
    fn load(&mut self, id: &str) -> Option<Result<Arc<Conversation>, StoreError>> {
        let first = self.source.as_mut()?.load(id);
        if !matches!(first, Err(StoreError::Locked { .. })) {
            return Some(first);
        }
        self.reload(false);
        Some(self.source.as_mut()?.load(id))
    }

    /// See whether the database that is followed was written, and read it again when it was.
    fn look(&mut self) {
        let began = Instant::now();
        if self.source.as_ref().is_some_and(Source::has_changed) {
            self.reload(true);
        }
        self.follower.looked(began.elapsed());
    }

    fn reload(&mut self, followed: bool) {
        let Some(source) = &mut self.source else {
            (self.say)(Event::Failed("no database is open: open one first".to_owned()));
            return;
        };
        match source.renew(followed) {
            Ok(Renewed::Same) => self.follower.troubled = false,
            Ok(Renewed::Other(reloaded)) => {
                self.follower.troubled = false;
                if reloaded.conversation.is_some() {
                    self.sweeper.forget();
                }
                (self.say)(Event::Reloaded(reloaded));
            }
            Err(error) if !followed => (self.say)(Event::Failed(error.to_string())),
            // It may last; once is enough.
            Err(_) if self.follower.troubled => {}
            Err(error) => {
                self.follower.troubled = true;
                (self.say)(Event::Failed(format!("following, but it cannot be read now: {error}")));
            }
        }
    }

    fn marks_of(&self, conversation: &str) -> Vec<(String, Vec<String>)> {
        self.marks.as_ref().map(|marks| marks.of_conversation(conversation)).unwrap_or_default()
    }

    fn mark(&mut self, conversation: &str, question: &str, turns: &[String]) {
        let Some(marks) = &mut self.marks else { return };
        marks.set(conversation, question, turns);
        if let Err(error) = marks.save() {
            (self.say)(Event::Failed(error.to_string()));
        }
    }

    /// The question that was asked last, under the pinned settings.
    fn pinned(&mut self, ask: &Ask) {
        let generation = ask.generation;
        let mut listener = Beside(Teller::new(&self.say, &self.signals, generation));
        if listener.0.outdated() {
            return;
        }
        let scored = self.pipeline.ask(&ask.conversation, &ask.text, &ask.gold, &ask.settings, &mut listener);
        if !listener.0.outdated() {
            let scored = (!listener.stopped()).then_some(scored);
            (self.say)(Event::Pinned { generation, scored });
        }
    }

    fn ask(&mut self) {
        let Some(ask) = self.last.clone() else { return };
        let generation = ask.generation;
        let mut listener = Teller::new(&self.say, &self.signals, generation);
        if listener.outdated() {
            return;
        }
        self.pipeline.ask(&ask.conversation, &ask.text, &ask.gold, &ask.settings, &mut listener);
        (self.say)(Event::Finished { generation });
    }
}

/// Turns what the pipeline says into events.
struct Teller<'a> {
    say: &'a Say,
    signals: &'a Signals,
    generation: u64,
    began: Instant,
    /// Units that were done when the stage began: they came from the cache and say nothing of its speed.
    first: usize,
    stage: &'static str,
}

impl<'a> Teller<'a> {
    fn new(say: &'a Say, signals: &'a Signals, generation: u64) -> Self {
        Self { say, signals, generation, began: Instant::now(), first: 0, stage: "" }
    }

    fn outdated(&self) -> bool {
        self.signals.generation.load(Ordering::SeqCst) != self.generation
    }
}

impl Listener for Teller<'_> {
    fn scored(&mut self, scored: Arc<Scored>) {
        if !self.outdated() {
            (self.say)(Event::Scored { generation: self.generation, scored });
        }
    }

    fn progress(&mut self, what: &'static str, done: usize, total: usize) {
        if self.stage != what {
            (self.stage, self.first) = (what, done);
            self.began = Instant::now();
        }
        let seconds = self.began.elapsed().as_secs_f64();
        let made = done.saturating_sub(self.first);
        let left = (made > 0 && seconds > 0.2).then(|| seconds / made as f64 * total.saturating_sub(done) as f64);
        (self.say)(Event::Progress(Progress {
            what: what.to_owned(),
            done: done as u64,
            total: total as u64,
            seconds,
            left,
        }));
    }

    fn stopped(&self) -> bool {
        self.outdated() || self.signals.stop.load(Ordering::SeqCst)
    }
}

/// Tells how far a question beside the asked one is, and keeps its scores back until they are complete.
struct Beside<'a>(Teller<'a>);

impl Listener for Beside<'_> {
    fn scored(&mut self, _: Arc<Scored>) {}

    fn progress(&mut self, what: &'static str, done: usize, total: usize) {
        self.0.progress(what, done, total);
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}
