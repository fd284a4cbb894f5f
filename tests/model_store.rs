//! A user's own models: imported, listed, checked and removed through the program. In temporary folders.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use memsift::models::{Architecture, ModelError, Origin, Registry, Role, State, verify};
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rankers").join(name)
}

/// A models directory.
struct Store(TempDir);

/// What a test does to a copy of a fixture.
type Spoil<'a> = &'a dyn Fn(&Path);

/// Exit code, standard output, standard error.
type Said = (i32, String, String);

impl Store {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn dir(&self) -> PathBuf {
        self.0.path().join("models")
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memsift"));
        command.arg("models").args(arguments).env("MEMSIFT_MODELS", self.dir()).env("MEMSIFT_OFFLINE", "1");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let said = (output.status.code().unwrap(), text(output.stdout), text(output.stderr));
        assert!(!said.2.contains("panicked"), "{}", said.2);
        said
    }

    fn import(&self, path: &Path, more: &[&str]) -> Said {
        let mut arguments = vec!["import", path.to_str().unwrap()];
        arguments.extend(more);
        self.run(&arguments)
    }

    /// Import what must be refused: one sentence, and nothing is left of it.
    fn refuses(&self, path: &Path, more: &[&str], reason: &str) {
        let before = self.visible();
        let (code, _, err) = self.import(path, more);
        assert_eq!(code, 2, "{reason}: {err}");
        assert!(err.contains(reason), "{reason}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert_eq!(self.visible(), before);
    }

    /// Everything but locks.
    fn visible(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir()).map(|entries| entries.map(|e| e.unwrap().file_name())).ok();
        let mut names: Vec<_> = entries.into_iter().flatten().map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with(".lock"));
        names.sort();
        names
    }

    fn registry(&self) -> Registry {
        Registry::of(&self.dir()).unwrap()
    }
}

/// A copy of a fixture that a test can spoil.
fn copy(name: &str, into: &Path) -> PathBuf {
    let to = into.join(name);
    copy_all(&fixture(name), &to);
    to
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let there = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &there);
        } else {
            fs::copy(entry.path(), there).unwrap();
        }
    }
}

fn wheel(path: &Path, prefix: &str, folder: &Path, more: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(fs::File::create(path).unwrap());
    let mut put = |name: &str, bytes: &[u8]| {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    };
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                put(&format!("{prefix}{name}"), &fs::read(&path).unwrap());
            }
        }
    }
    more.iter().for_each(|(name, bytes)| put(name, bytes));
    zip.finish().unwrap();
}

#[test]
fn every_kind_of_model_is_recognised_proven_and_found_again() {
    let store = Store::new();
    let kinds = [
        ("bert-ce", Role::CrossEncoder, Architecture::Bert),
        ("xlm-roberta-ce", Role::CrossEncoder, Architecture::Roberta),
        ("deberta-v2-ce", Role::CrossEncoder, Architecture::DebertaV2),
        ("modernbert-ce", Role::CrossEncoder, Architecture::ModernBert),
        ("bert-colbert", Role::Colbert, Architecture::Bert),
        ("modernbert-colbert", Role::Colbert, Architecture::ModernBert),
        ("bert-dense-cls", Role::Dense, Architecture::Bert),
        ("bert-dense-mean", Role::Dense, Architecture::Bert),
    ];
    for (name, role, architecture) in kinds {
        let (code, _, err) = store.import(&fixture(name), &[]);
        assert_eq!(code, 0, "{name}: {err}");
        let registry = store.registry();
        let model = registry.model(name).unwrap();
        assert_eq!(
            (model.roles.as_slice(), model.architecture, model.origin),
            (&[role][..], architecture, Origin::Imported)
        );
        assert_eq!(verify(model, &store.dir()).unwrap(), State::Ready);
        // What is not needed stays behind.
        assert!(!store.dir().join(name).join("reference.json").exists());
    }
    assert_eq!(store.visible().len(), kinds.len());
    let (code, out, _) = store.run(&["list"]);
    let row = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let cells: Vec<_> = row(&out, "deberta-v2-ce").split_whitespace().map(str::to_owned).collect();
    assert_eq!((code, cells.join(" ").as_str()), (0, "deberta-v2-ce ce deberta-v2 0.1 MB unknown installed, imported"));
    let rest = row(&out, "mxbai-rerank-large-v1");
    assert!(rest.contains(" Apache-2.0 ") && rest.ends_with(" not installed"), "{out}");
    let (_, out, _) = store.run(&["list", "--json"]);
    let list: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    let found = list.iter().find(|model| model["name"] == "bert-colbert").unwrap();
    assert_eq!((&found["roles"][0], &found["state"]), (&"colbert".into(), &"ready".into()));

    // A changed byte is seen, and said on the line of its model.
    let weights = store.dir().join("bert-ce/model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, bytes).unwrap();
    let (code, out, _) = store.run(&["verify"]);
    assert_eq!(code, 1);
    assert!(
        row(&out, "bert-ce").contains("damaged: 'model.safetensors'; run 'memsift models remove bert-ce'"),
        "{out}"
    );
    assert!(row(&out, "bert-colbert").ends_with("every file is as it should be"));
    assert!(row(&out, "gte-base").ends_with("not installed"));
}

/// What memsift works with unless told otherwise has to be there; beside it, only what is installed is held to account.
#[cfg(unix)]
#[test]
fn verify_is_green_when_all_that_is_installed_holds() {
    let (store, real) = (Store::new(), common::models_dir());
    fs::create_dir(store.dir()).unwrap();
    assert_eq!(store.run(&["verify"]).0, 1);
    for name in ["all-MiniLM-L6-v2", "en_core_web_sm"] {
        std::os::unix::fs::symlink(real.join(name), store.dir().join(name)).unwrap();
    }
    assert_eq!(store.import(&fixture("bert-ce"), &[]).0, 0);
    let (code, out, err) = store.run(&["verify"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(out.matches("every file is as it should be").count(), 3, "{out}");
    assert_eq!(out.matches("not installed").count(), 17, "{out}");
    fs::remove_file(store.dir().join("bert-ce/tokenizer.json")).unwrap();
    assert_eq!(store.run(&["verify"]).0, 1);
}

#[test]
fn the_wheel_of_a_pinned_model_is_known_by_its_content() {
    let (store, place) = (Store::new(), tempfile::tempdir().unwrap());
    let path = place.path().join("downloaded.whl");
    let registry = Registry::built_in().unwrap();
    let tagger = registry.model("en_core_web_sm").unwrap();
    let prefix = &tagger.package.as_ref().unwrap().prefix;
    wheel(&path, prefix, &common::models_dir().join("en_core_web_sm"), &[]);
    let (code, _, err) = store.import(&path, &[]);
    assert_eq!((code, err.trim_end()), (0, "en_core_web_sm: imported, tagger, spacy, 13.9 MB"));
    assert_eq!(verify(tagger, &store.dir()).unwrap(), State::Ready);
    // The list inside the program says what its files must be, so it has no manifest.
    assert!(!store.dir().join("en_core_web_sm/memsift.toml").exists());
    store.refuses(&path, &[], "there is a model 'en_core_web_sm' already");
}

#[test]
fn a_name_is_used_once_and_a_role_can_be_said() {
    let store = Store::new();
    assert_eq!(store.import(&fixture("bert-ce"), &["--name", "mine", "--role", "ce"]).0, 0);
    store.refuses(&fixture("bert-ce"), &["--name", "mine"], "there is a model 'mine' already");
    store.refuses(&fixture("bert-ce"), &["--name", "small-cross-encoder"], "is part of the program");
    for name in ["../mine", "a/b", ".mine", "models.toml", ""] {
        store.refuses(&fixture("bert-ce"), &["--name", name], "cannot be that of a folder");
    }
    store.refuses(&fixture("bert-ce"), &["--role", "dense"], "modules.json");
    store.refuses(&fixture("bert-dense-mean"), &["--role", "ce"], "2 outputs; a reranker has one");
    store.refuses(&fixture("bert-ce"), &["--name", "all-MiniLM-L6-v2"], "has not the SHA-256 that the list has");
    store.refuses(&fixture("bert-ce"), &["--name", "mxbai-rerank-base-v1"], "its architecture is bert, and that of");
    store.refuses(&fixture("bert-ce"), &["--name", "gte-base"], "it has no modules.json");
    store.refuses(&fixture("bert-ce"), &["--name", "gte-base", "--role", "ce"], "'gte-base' of the list is dense");
    // A model of the list whose files only the hub knows can be brought in by hand, and keeps what the list says of it.
    assert_eq!(store.import(&fixture("bert-dense-mean"), &["--name", "e5-base-v2"]).0, 0);
    let registry = store.registry();
    let model = registry.model("e5-base-v2").unwrap();
    assert_eq!((model.licence.as_str(), model.origin), ("MIT", Origin::BuiltIn));
    assert_eq!(model.prefixes.as_ref().unwrap().question, "query: ");
    assert_eq!(verify(model, &store.dir()).unwrap(), State::Ready);
}

#[test]
fn what_cannot_be_used_is_refused_in_one_sentence() {
    let (store, place) = (Store::new(), tempfile::tempdir().unwrap());
    let spoilt = |name: &str, spoil: Spoil<'_>| {
        let folder = copy(name, &tempfile::tempdir_in(place.path()).unwrap().keep());
        spoil(&folder);
        folder
    };
    let gone = |file: &'static str| move |folder: &Path| fs::remove_file(folder.join(file)).unwrap();
    let swap = |from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let path = folder.join("config.json");
            fs::write(&path, fs::read_to_string(&path).unwrap().replace(from, to)).unwrap();
        }
    };
    let pickle =
        |folder: &Path| fs::rename(folder.join("model.safetensors"), folder.join("pytorch_model.bin")).unwrap();
    let cut = |folder: &Path| {
        let path = folder.join("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    };
    let foreign = |folder: &Path| fs::write(folder.join("model.safetensors"), "PK\u{3}\u{4} something else").unwrap();
    let escape = |folder: &Path| {
        let path = folder.join("modules.json");
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("1_Dense", "../1_Dense")).unwrap();
    };
    let unprojected = |folder: &Path| {
        fs::copy(fixture("bert-dense-cls").join("model.safetensors"), folder.join("model.safetensors")).unwrap();
    };
    let rows: [(&str, Spoil<'_>, &str); 13] = [
        ("bert-ce", &pickle, "a format that can carry programs; convert them to model.safetensors"),
        ("bert-ce", &gone("model.safetensors"), "it has no model.safetensors"),
        ("bert-ce", &gone("tokenizer.json"), "it has no tokenizer.json; save it with a fast tokenizer"),
        ("bert-ce", &gone("config.json"), "it has no config.json"),
        ("bert-ce", &swap("\"bert\"", "\"gpt2\""), "its architecture is 'gpt2'; those that memsift runs are"),
        ("bert-ce", &swap("{", "["), "its config.json cannot be read as one"),
        ("bert-ce", &cut, "it is cut short"),
        ("bert-ce", &foreign, "it is no safetensors file"),
        ("bert-dense-cls", &gone("1_Pooling/config.json"), "it has no 1_Pooling/config.json"),
        ("bert-dense-cls", &gone("modules.json"), "say it with --role ce"),
        ("modernbert-colbert", &gone("1_Dense/model.safetensors"), "it has no 1_Dense/model.safetensors"),
        ("modernbert-colbert", &escape, "a part outside its folder ('../1_Dense')"),
        ("bert-colbert", &unprojected, "it has no tensor 'linear.weight'"),
    ];
    for (name, spoil, reason) in rows {
        store.refuses(&spoilt(name, spoil), &["--name", "spoilt"], reason);
    }
    store.refuses(&place.path().join("nowhere"), &[], "cannot be imported");
    let text = place.path().join("text.whl");
    fs::write(&text, "no archive").unwrap();
    store.refuses(&text, &[], "it is neither a folder nor a wheel");
    assert!(store.visible().is_empty());
}

#[cfg(unix)]
#[test]
fn links_are_followed_to_files_only() {
    use std::os::unix::fs::symlink;
    let (store, place) = (Store::new(), tempfile::tempdir().unwrap());
    // The layout of the cache of the hub's own program.
    let snapshot = place.path().join("models--owner--linked/snapshots/0123");
    fs::create_dir_all(&snapshot).unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors", "tokenizer_config.json"] {
        symlink(fixture("bert-ce").join(file), snapshot.join(file)).unwrap();
    }
    symlink("/dev/zero", snapshot.join("sentence_bert_config.json")).unwrap();
    fs::File::create(snapshot.join("unknown.bin")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(store.import(&snapshot, &[]).0, 0);
    let mut names: Vec<_> = fs::read_dir(store.dir().join("linked")).unwrap().map(|entry| entry.unwrap()).collect();
    names.sort_by_key(fs::DirEntry::file_name);
    assert!(names.iter().all(|entry| entry.file_type().unwrap().is_file()));
    let names: Vec<_> = names.iter().map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["config.json", "memsift.toml", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]);
    fs::remove_file(snapshot.join("model.safetensors")).unwrap();
    symlink("/dev/zero", snapshot.join("model.safetensors")).unwrap();
    store.refuses(&snapshot, &["--name", "zero"], "it has no model.safetensors");

    // Of a folder that is a link, only the link is removed.
    let elsewhere = place.path().join("elsewhere");
    fs::rename(store.dir().join("linked"), &elsewhere).unwrap();
    symlink(&elsewhere, store.dir().join("linked")).unwrap();
    assert_eq!(store.run(&["remove", "linked"]).0, 0);
    assert!(elsewhere.join("model.safetensors").exists() && store.visible().is_empty());
}

#[test]
fn a_wheel_is_imported_and_no_path_of_it_is_used() {
    let (store, place) = (Store::new(), tempfile::tempdir().unwrap());
    let path = place.path().join("my_reranker-1.0-py3-none-any.whl");
    let evil: [(&str, &[u8]); 3] =
        [("../evil", b"x"), ("pkg/model/../../../evil", b"x"), ("/tmp/memsift-evil-absolute", b"x")];
    wheel(&path, "pkg/model/", &fixture("modernbert-colbert"), &evil);
    let (code, _, err) = store.import(&path, &[]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(store.visible(), ["my_reranker"]);
    assert_eq!(store.registry().model("my_reranker").unwrap().roles, [Role::Colbert]);
    assert!(!store.0.path().join("evil").exists() && !Path::new("/tmp/memsift-evil-absolute").exists());

    let two = place.path().join("two.zip");
    let config = fs::read(fixture("bert-ce").join("config.json")).unwrap();
    wheel(&two, "a/", &fixture("bert-ce"), &[("b/config.json", &config), ("b/model.safetensors", b"x")]);
    store.refuses(&two, &[], "several folders in it hold models ('a/', 'b/')");
    let none = place.path().join("none.zip");
    wheel(&none, "a/", &fixture("bert-dense-cls").join("1_Pooling"), &[]);
    store.refuses(&none, &[], "no folder in it has a config.json beside weights");
    let pickled = place.path().join("pickled.zip");
    let tokenizer = fs::read(fixture("bert-ce").join("tokenizer.json")).unwrap();
    let files: [(&str, &[u8]); 3] =
        [("p/config.json", &config), ("p/tokenizer.json", &tokenizer), ("p/pytorch_model.bin", b"x")];
    let empty = tempfile::tempdir().unwrap();
    wheel(&pickled, "", empty.path(), &files);
    store.refuses(&pickled, &[], "its weights are in 'pytorch_model.bin'");
}

#[test]
fn removing_frees_the_bytes_and_refuses_what_is_not_there() {
    let store = Store::new();
    assert_eq!(store.import(&fixture("bert-ce"), &[]).0, 0);
    let bytes: u64 =
        fs::read_dir(store.dir().join("bert-ce")).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    fs::create_dir(store.dir().join("stray")).unwrap();
    let (code, _, err) = store.run(&["remove", "bert-ce"]);
    assert_eq!((code, err.trim_end()), (0, format!("bert-ce: removed, {bytes} bytes freed").as_str()));
    for (name, reason) in [
        ("bert-ce", "no model is named 'bert-ce'"),
        ("stray", "no model is named 'stray'"),
        ("..", "no model is named '..'"),
        ("", "no model is named ''"),
        ("gte-base", "nothing of model 'gte-base' is in the models directory"),
        ("small-cross-encoder", "nothing of model 'small-cross-encoder'"),
    ] {
        let (code, _, err) = store.run(&["remove", name]);
        assert_eq!(code, 2, "{name}: {err}");
        assert!(err.contains(reason), "{err}");
    }
    assert_eq!(store.visible(), ["stray"]);
    // What an interrupted pull left can be removed, too.
    fs::create_dir(store.dir().join(".gte-base.part")).unwrap();
    fs::write(store.dir().join(".gte-base.part/model.safetensors.part"), "12345").unwrap();
    let (code, _, err) = store.run(&["remove", "gte-base"]);
    assert_eq!((code, err.trim_end()), (0, "gte-base: removed, 5 bytes freed"));
}

#[test]
fn a_damaged_manifest_is_said_and_stops_nothing_else() {
    let store = Store::new();
    for name in ["bert-ce", "bert-colbert"] {
        assert_eq!(store.import(&fixture(name), &[]).0, 0);
    }
    fs::write(store.dir().join("bert-ce/memsift.toml"), "[[model]]\nname = 'bert-colbert'\n").unwrap();
    let registry = store.registry();
    assert_eq!(registry.damaged, ["bert-ce"]);
    assert!(registry.model("bert-colbert").is_ok());
    assert!(matches!(registry.model("bert-ce"), Err(ModelError::Manifest { .. })));
    let (code, out, _) = store.run(&["list"]);
    assert!(code == 0 && out.contains("damaged: 'memsift.toml'; run 'memsift models remove bert-ce'"), "{out}");
    let (code, out, _) = store.run(&["verify"]);
    assert!(code == 1 && out.contains("damaged: 'memsift.toml'"), "{out}");
    assert_eq!(store.run(&["remove", "bert-ce"]).0, 0);
    assert_eq!(store.visible(), ["bert-colbert"]);
}

#[test]
fn a_list_of_ones_own_is_merged_and_repeats_no_name() {
    let store = Store::new();
    fs::create_dir(store.dir()).unwrap();
    let model = |name: &str| {
        format!(
            "[[model]]\nname = '{name}'\nroles = ['cross-encoder']\narchitecture = 'bert'\nlicence = 'MIT'\nneeds = ['config.json', 'tokenizer.json', 'model.safetensors']\n"
        )
    };
    let write = |text: &str| fs::write(store.dir().join("models.toml"), text).unwrap();
    write(
        &(model("mine")
            + "[[profile]]\nname = 'own'\nce = 'mine'\ncolbert = 'all-MiniLM-L6-v2'\ndense = 'all-MiniLM-L6-v2'\n"),
    );
    let registry = store.registry();
    assert_eq!(registry.model("mine").unwrap().origin, Origin::User);
    assert_eq!(registry.profile("own").unwrap().ce, "mine");
    assert_eq!(store.import(&fixture("bert-ce"), &["--name", "mine"]).0, 0);
    assert_eq!(store.registry().model("mine").unwrap().licence, "MIT");
    for (text, reason) in [
        (model("gte-base"), "'gte-base' is built in already"),
        (model("twice").repeat(2), "it names 'twice' twice"),
        (
            "[[profile]]\nname = 'small'\nce = 'a'\ncolbert = 'a'\ndense = 'a'\n".to_owned(),
            "profile 'small' is built in",
        ),
        ("[[model]]\nname = 'x'\n".to_owned(), "missing field"),
        ("model = 1".to_owned(), "invalid type"),
    ] {
        write(&text);
        let (code, _, err) = store.run(&["list"]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("models.toml") && err.contains(reason), "{reason}: {err}");
    }
}

#[test]
fn offline_no_model_is_asked_for() {
    let store = Store::new();
    fs::create_dir_all(store.dir().join("gte-base")).unwrap();
    fs::write(store.dir().join("gte-base/config.json"), "{}").unwrap();
    assert!(store.run(&["list"]).1.contains("files that nobody vouches for; run 'memsift models pull gte-base'"));
    store.refuses(&fixture("bert-dense-mean"), &["--name", "gte-base"], "run 'memsift models remove gte-base' first");
    for (flag, variable) in [(Some("--offline"), ""), (None, "1")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memsift"));
        command.args(["demo", "--prepare"]).args(flag).env("MEMSIFT_OFFLINE", variable);
        command
            .env("MEMSIFT_MODELS", store.dir())
            .env("MEMSIFT_DATA", store.0.path())
            .env("HF_ENDPOINT", "http://[::1]:1");
        let output = command.output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && err.contains("going on without all models"), "{err}");
        assert!(err.contains("memsift runs offline"), "{err}");
    }
    let (code, _, err) = store.run(&["pull", "fast"]);
    assert_eq!(code, 1);
    assert!(err.contains("model 'ms-marco-MiniLM-L6-v2' is not complete") && err.contains("MEMSIFT_OFFLINE"), "{err}");
    let (code, _, err) = store.run(&["pull", "slow"]);
    assert_eq!(code, 2);
    assert!(err.contains("profiles: small, fast, paper"), "{err}");
}
