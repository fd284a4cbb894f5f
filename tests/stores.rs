//! Chat databases of other programs: each file of the shared data gives exactly its two talks, tiny databases made here
//! show branches, left-out rows and times, and nothing beside a file changes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memsift::history::Conversation;
use memsift::store::import::{import, import_texts};
use memsift::store::{Mapping, Reading, Store, StoreError, Verdict};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

/// What Ines and her assistant say in every file of the shared data.
const KAYAK: [&str; 6] = [
    "Hi! I am Ines. I just booked a kayak tour on Lake Orta for 14 June, four people.",
    "Nice, Ines. A four-person tour on Lake Orta on 14 June. Do you need a packing list?",
    "Yes please. Note that my brother Tomas is allergic to latex, so no latex dry-bag seals.",
    "Noted: Tomas has a latex allergy. Packing list: PVC dry bags, sun hats, water shoes, 2 litres of water each.",
    "Actually the guide moved us to 16 June because of wind. The meeting point is the pier in Pella at 9:15.",
    "Updated: the tour is now on 16 June, meeting at 9:15 at the pier in Pella.",
];
const BREAD: [&str; 6] = [
    "Yesterday I baked my third sourdough loaf 🍞, 78% hydration, and it finally had an open crumb.",
    "Congratulations! What flour did you use, and how long was the bulk ferment?",
    "Half rye, half Manitoba. Bulk took 5 h 40 min at 24 °C. My starter is called Größenwahn, and 妈妈说 it smells like apples.",
    "Half rye / half Manitoba, 5 h 40 min at 24 °C. An apple smell usually means a healthy starter.",
    "Last week I said 70% hydration was my limit, so I was wrong :) What should I try next?",
    "Try 80% hydration with a colder, longer proof: 14 hours at 5 °C.",
];
/// The same talks in the synthetic files have these times: one turn every 61 seconds.
const KAYAK_BEGAN: i64 = 1_777_712_400;
const BREAD_BEGAN: i64 = 1_777_885_200;

fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MEMSIFT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join("data/sqlite").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no database at {}", path.display());
    None
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

/// Open a copy of a shared file in a folder of its own, read all of it, and see that the folder is as it was.
fn read(name: &str) -> Option<(Vec<Conversation>, Verdict)> {
    let source = shared(name)?;
    let folder = tempdir().unwrap();
    // No hint in the name.
    let path = folder.path().join("some file");
    fs::write(&path, fs::read(&source).unwrap()).unwrap();
    let before = contents(folder.path());
    let read = read_at(&path);
    assert_eq!(contents(folder.path()), before, "{name} or its folder was changed");
    Some(read)
}

fn read_at(path: &Path) -> (Vec<Conversation>, Verdict) {
    let store = Store::open(path).unwrap_or_else(|error| panic!("{error}"));
    let rows = store.summaries().unwrap();
    let talks: Vec<_> = rows.iter().map(|row| store.load(&row.id).unwrap()).collect();
    for (row, talk) in rows.iter().zip(&talks) {
        assert_eq!(
            (row.turns, row.sessions, row.words, &row.title),
            (talk.turns.len(), talk.sessions.len(), talk.words(), &talk.title)
        );
    }
    (talks, store.verdict().unwrap())
}

fn made(sql: &str) -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("made.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (folder, path)
}

fn texts(talk: &Conversation) -> Vec<&str> {
    talk.turns.iter().map(|turn| turn.text.as_str()).collect()
}

fn speakers(talk: &Conversation) -> Vec<&str> {
    talk.turns.iter().map(|turn| talk.speaker_of(turn)).collect()
}

fn times(talk: &Conversation) -> Vec<Option<i64>> {
    talk.turns.iter().map(|turn| turn.time.seconds()).collect()
}

fn left_out(verdict: &Verdict) -> Vec<(&str, usize)> {
    verdict.left_out.iter().map(|(reason, rows)| (reason.as_str(), *rows)).collect()
}

/// Two conversations of one session each, two speakers in turn.
fn holds_both(talks: &[Conversation], ids: [&str; 2], who: [[&str; 2]; 2]) {
    assert_eq!(talks.iter().map(|talk| talk.id.as_str()).collect::<Vec<_>>(), ids);
    for ((talk, want), who) in talks.iter().zip([KAYAK, BREAD]).zip(who) {
        assert_eq!(texts(talk), want);
        assert_eq!(speakers(talk), [who[0], who[1]].repeat(3));
        assert_eq!(talk.sessions.len(), 1);
    }
}

fn ticks_every_61_seconds(talks: &[Conversation]) {
    for (talk, began) in talks.iter().zip([KAYAK_BEGAN, BREAD_BEGAN]) {
        assert_eq!(times(talk), (0..6).map(|at| Some(began + 61 * at)).collect::<Vec<_>>());
    }
}

const ROLES: [[&str; 2]; 2] = [["user", "assistant"]; 2];

// ---- the shared files ----

#[test]
fn llm_of_both_schemas() {
    let Some((talks, verdict)) = read("llm.db") else { return };
    holds_both(&talks, ["01m8pwnb4ts0ayx7p26mypjzh7", "01m8pwnb5kfck07hy6jrrjk01f"], ROLES);
    assert_eq!(talks[0].title.as_deref(), Some("Hi! I am Ines. I just booked a …"));
    assert_eq!(talks[0].turns[0].time.store(), "2026-11-30T18:49:46Z");
    // The system prompt is the root of both threads.
    assert_eq!(left_out(&verdict), [("system prompt", 2)]);
    assert_eq!((verdict.store.as_str(), verdict.version.as_str(), verdict.turns), ("llm", "message tree", 12));

    let Some((talks, verdict)) = read("llm_0.27_legacy.db") else { return };
    holds_both(&talks, ["01m8pws5f91q8ztswjveycsd3d", "01m8pws5hw9h2wwm65ssk6rrbw"], ROLES);
    assert_eq!(talks[0].turns[0].id, "01m8pws5f91q8ztswjveycsd3e/prompt");
    assert_eq!(talks[0].turns[0].time.store(), "2026-11-30T18:51:52Z");
    assert_eq!(verdict.version, "prompt and response rows");
}

#[test]
fn langchain_has_no_times() {
    let Some((talks, verdict)) = read("langchain_sqlchatmessagehistory.db") else { return };
    holds_both(&talks, ["kayak-trip", "sourdough-log"], ROLES);
    assert_eq!(times(&talks[0]), [None; 6]);
    assert_eq!((verdict.first.as_str(), verdict.store.as_str()), ("", "langchain"));
    assert!(verdict.guesses.iter().any(|guess| guess.contains("keeps none")), "{verdict}");
}

#[test]
fn openai_agents_plain_and_with_a_branch() {
    let Some((talks, verdict)) = read("openai_agents_sqlitesession.db") else { return };
    holds_both(&talks, ["kayak-trip", "sourdough-log"], ROLES);
    assert_eq!(talks[0].turns[0].time.store(), "2026-11-30T18:49:53");
    assert_eq!(left_out(&verdict), [("tool call", 1), ("tool result", 1)]);
    assert!(verdict.guesses.iter().any(|guess| guess.contains("zone unknown")), "{verdict}");

    let Some((talks, verdict)) = read("openai_agents_advancedsqlitesession.db") else { return };
    holds_both(&talks, ["kayak-trip", "sourdough-log"], ROLES);
    assert_eq!((verdict.branches, left_out(&verdict)), (1, vec![("on another branch", 1)]));
    assert_eq!(verdict.version, "AdvancedSQLiteSession");
}

#[test]
fn open_webui_leaves_the_abandoned_branch_out() {
    let Some((talks, verdict)) = read("synthetic/open_webui_webui.db") else { return };
    holds_both(&talks, ["kayak-trip", "sourdough-log"], ROLES);
    ticks_every_61_seconds(&talks);
    assert_eq!(talks[1].title.as_deref(), Some("Sourdough log 🍞"));
    assert_eq!(talks[0].turns[5].id, "kayak-trip-m5");
    assert_eq!((verdict.branches, left_out(&verdict)), (1, vec![("on another branch", 1)]));
}

#[test]
fn langgraph_gives_each_turn_once() {
    let Some((talks, verdict)) = read("langgraph_sqlitesaver.db") else { return };
    holds_both(&talks, ["kayak-trip", "sourdough-log"], ROLES);
    // Nine states a thread, of which the newest is read.
    assert_eq!(left_out(&verdict), [("older state of the same talk", 16)]);
    assert_eq!(talks[0].turns[5].time.store(), "2026-11-30T18:50:55Z");
    assert_eq!(talks[0].turns[0].id, "ad75d9fc-b5b7-4528-acc6-d9740ae84c6a");
    assert_eq!(verdict.repeated_turns, 0);
}

#[test]
fn google_adk_of_both_services() {
    for (name, version, first) in [
        ("google_adk_sessions.db", "DatabaseSessionService v1", "2026-11-30T18:50:59"),
        ("google_adk_sqlite_session_service.db", "SqliteSessionService", "2026-11-30T19:01:33Z"),
    ] {
        let Some((talks, verdict)) = read(name) else { return };
        assert_eq!(talks.len(), 1);
        let talk = &talks[0];
        assert_eq!(talk.id, "demo_app/ines");
        assert_eq!(texts(talk), [KAYAK, BREAD].concat());
        assert_eq!(speakers(talk), ["user", "helper_agent"].repeat(6));
        let sessions: Vec<_> =
            talk.sessions.iter().map(|session| (session.id.as_str(), session.turns.clone())).collect();
        assert_eq!(sessions, [("kayak-trip", 0..6), ("sourdough-log", 6..12)]);
        assert_eq!((verdict.version.as_str(), talk.turns[0].time.store().as_str()), (version, first));
    }
}

/// One conversation with a session for each talk.
fn holds_two_sessions(talks: &[Conversation], id: &str, sessions: [&str; 2]) {
    assert_eq!(talks.iter().map(|talk| talk.id.as_str()).collect::<Vec<_>>(), [id]);
    let talk = &talks[0];
    assert_eq!(texts(talk), [KAYAK, BREAD].concat());
    assert_eq!(speakers(talk), ["user", "assistant"].repeat(6));
    let found: Vec<_> = talk.sessions.iter().map(|session| (session.id.as_str(), session.turns.clone())).collect();
    assert_eq!(found, [(sessions[0], 0..6), (sessions[1], 6..12)]);
}

#[test]
fn anythingllm_splits_rows_into_questions_and_answers() {
    let Some((talks, _)) = read("synthetic/anythingllm.db") else { return };
    holds_two_sessions(&talks, "personal", ["kayak-trip", "sourdough-log"]);
    // A row has one time for both; rows are two steps apart.
    let want: Vec<_> =
        [KAYAK_BEGAN, BREAD_BEGAN].iter().flat_map(|t| [0, 0, 122, 122, 244, 244].map(|at| Some(t + at))).collect();
    assert_eq!(times(&talks[0]), want);
    assert_eq!(talks[0].turns[1].id, "1/response");
}

#[test]
fn opencode_joins_parts() {
    let Some((talks, _)) = read("synthetic/opencode.db") else { return };
    holds_two_sessions(&talks, "/home/ines/notes", ["ses_kayak-trip", "ses_sourdough-log"]);
    let want: Vec<_> =
        [KAYAK_BEGAN, BREAD_BEGAN].iter().flat_map(|t| (0..6).map(move |at| Some(t + 61 * at))).collect();
    assert_eq!(times(&talks[0]), want);
}

#[test]
fn goose_and_hermes_have_a_conversation_a_session() {
    let Some((talks, _)) = read("synthetic/goose_sessions.db") else { return };
    holds_both(&talks, ["20260502_1", "20260502_2"], ROLES);
    ticks_every_61_seconds(&talks);
    assert_eq!(talks[0].title.as_deref(), Some("Kayak trip planning"));

    let Some((talks, verdict)) = read("synthetic/hermes_state.db") else { return };
    holds_both(&talks, ["kayak-trip", "sourdough-log"], ROLES);
    ticks_every_61_seconds(&talks);
    assert_eq!((left_out(&verdict), verdict.version.as_str()), (vec![("tool result", 1)], "schema 30"));
}

#[test]
fn cursor_follows_the_composers_list() {
    let Some((talks, verdict)) = read("cursor_global_state_fixture.vscdb") else { return };
    assert_eq!(talks.len(), 1);
    let talk = &talks[0];
    assert_eq!(talk.title.as_deref(), Some("Synthetic v0.16 Composer session"));
    let want = [
        "Synthetic question alpha.",
        "Composer owns the synthetic collision identity.",
        "Synthetic answer beta.\n```ts\nconst fixtureValue = 16;\n```",
        "Synthetic empty-ID compatibility turn.",
    ];
    assert_eq!(texts(talk), want);
    assert_eq!(speakers(talk), ["user", "assistant", "assistant", "user"]);
    assert_eq!(talk.turns[3].time.store(), "2024-01-16T00:00:06Z");
    assert_eq!(left_out(&verdict), [("empty value", 1), ("tool call", 2)]);
}

#[test]
fn imessage_reads_archived_text_and_leaves_tapbacks_out() {
    let Some((talks, verdict)) = read("synthetic/imessage_chat.db") else { return };
    holds_both(&talks, ["iMessage;-;kayak-trip", "iMessage;-;sourdough-log"], [["me", "+390000000001"]; 2]);
    ticks_every_61_seconds(&talks);
    assert_eq!(left_out(&verdict), [("tapback", 1)]);
    assert!(verdict.guesses.iter().any(|guess| guess.contains("nanoseconds since 2001")), "{verdict}");
}

#[test]
fn whatsapp_and_signal_name_the_other_side() {
    let Some((talks, _)) = read("synthetic/whatsapp_msgstore.db") else { return };
    let ids = ["390000000001@s.whatsapp.net", "390000000002@s.whatsapp.net"];
    holds_both(&talks, ids, [["me", "390000000001"], ["me", "390000000002"]]);
    ticks_every_61_seconds(&talks);

    let Some((talks, _)) = read("synthetic/signal_desktop_decrypted.sqlite") else { return };
    let who = [["me", "Kayak trip planning"], ["me", "Sourdough log 🍞"]];
    holds_both(&talks, ["kayak-trip", "sourdough-log"], who);
    ticks_every_61_seconds(&talks);
}

#[test]
fn zed_threads_are_unpacked() {
    let Some((talks, verdict)) = read("synthetic/zed_threads.db") else { return };
    let ids = ["d7a8910a-7132-507d-b374-3ea622c97948", "0f178914-4b3d-566d-a635-21510daf4614"];
    holds_both(&talks, ids, ROLES);
    assert_eq!(talks[0].turns[5].time.store(), "2026-05-02T09:05:05Z");
    assert!(verdict.guesses.iter().any(|guess| guess.contains("its thread's")), "{verdict}");
}

#[test]
fn mem0_has_its_talks_and_its_facts() {
    let Some((talks, verdict)) = read("mem0_history.db") else { return };
    holds_both(&talks[..2], ["kayak-trip", "sourdough-log"], ROLES);
    assert_eq!(talks[0].turns[0].time.store(), "2026-11-30T18:56:29Z");
    assert_eq!(talks.len(), 3);
    let want = [
        "Kayak tour on Lake Orta on 14 June for four people",
        "Brother Tomas is allergic to latex",
        "Kayak tour on Lake Orta moved to 16 June, meet at Pella pier 9:15",
    ];
    assert_eq!((talks[2].id.as_str(), texts(&talks[2])), ("facts", want.to_vec()));
    assert_eq!((verdict.conversations, verdict.turns), (3, 15));
}

// ---- exports, which are imported ----

#[test]
fn exports_of_chat_programs_become_the_same_talks() {
    let Some(data) = shared("../chat_exports") else { return };
    let people = [["Ines", "Helper"]; 2];
    let rows = [
        (vec!["chatgpt_conversations.json"], ["kayak-trip", "sourdough-log"], ROLES),
        (vec!["claude_ai_conversations.json"], ["kayak-trip", "sourdough-log"], ROLES),
        (vec!["telegram_result.json"], ["1000", "1001"], people),
        (vec!["discordchatexporter_kayak-trip.json", "discordchatexporter_sourdough-log.json"], ["500", "501"], people),
    ];
    for (names, ids, who) in rows {
        let files: Vec<_> = names.iter().map(|name| data.join(name)).collect();
        let folder = tempdir().unwrap();
        let path = folder.path().join("m.db");
        let report = import(&files, &path, &mut |_| {}).unwrap();
        println!("{report}");
        let (talks, _) = read_at(&path);
        holds_both(&talks, ids, who);
        // The export of Discord writes local time with its offset.
        let east = if names.len() == 2 { 7_200 } else { 0 };
        for (talk, began) in talks.iter().zip([KAYAK_BEGAN, BREAD_BEGAN]) {
            assert_eq!(times(talk), (0..6).map(|at| Some(began + east + 61 * at)).collect::<Vec<_>>(), "{names:?}");
        }
        assert_eq!(talks[0].title.as_deref(), Some("Kayak trip planning"));
        assert!(import(&files, &path, &mut |_| {}).unwrap().unchanged());
    }
}

#[test]
fn an_exported_tree_is_walked_from_its_current_node() {
    let node = |id: &str, parent: &str, role: &str, text: &str, more: &str| {
        format!(
            r#""{id}": {{"parent": "{parent}", "message": {{"author": {{"role": "{role}"}}, "content": {{"content_type": "text", "parts": ["{text}", {{"image": 1}}]}}{more}}}}}"#
        )
    };
    let nodes = [
        node("a", "root", "user", "Where is Ana?", ""),
        node("b", "a", "assistant", "In Rome.", ""),
        node("c", "a", "assistant", "search", r#", "recipient": "browser""#),
        node("d", "c", "tool", "result", ""),
        node("e", "d", "assistant", "In Porto.", r#", "create_time": null"#),
    ];
    let text = format!(r#"[{{"title": "T", "id": "x", "current_node": "e", "mapping": {{{}}}}}]"#, nodes.join(", "));
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let report = import_texts(&[("c.json", text.as_str())], &path, &mut |_| {}).unwrap();
    let (talks, _) = read_at(&path);
    assert_eq!(texts(&talks[0]), ["Where is Ana?", "In Porto."]);
    let skipped: Vec<_> = report.files[0].skipped.iter().map(|row| row.reason.as_str()).collect();
    assert_eq!(skipped, ["message to a tool, or no text", "on another branch", "tool result"]);
}

// ---- databases made here ----

const WEBUI: &str = "CREATE TABLE chat (id, user_id, title, chat, created_at, archived);";

#[test]
fn a_tree_is_walked_from_where_the_user_stands() {
    let chat = r#"{"history": {"currentId": "c", "messages": {
        "a": {"parentId": null, "role": "user", "content": "Where is Ana?", "timestamp": 1777712400000},
        "b": {"parentId": "a", "role": "assistant", "content": "In Rome.", "timestamp": 1777712401000},
        "c": {"parentId": "a", "role": "assistant", "content": "In Porto.", "timestamp": 1777712402000},
        "d": {"parentId": "d", "role": "user", "content": "A ring.", "timestamp": 1}}}}"#;
    let (folder, path) = made(&format!("{WEBUI} INSERT INTO chat VALUES ('x', 'u', 'T', '{chat}', 1, 0);"));
    let before = contents(folder.path());
    let (talks, verdict) = read_at(&path);
    assert_eq!(texts(&talks[0]), ["Where is Ana?", "In Porto."]);
    assert_eq!(talks[0].turns[1].time.store(), "2026-05-02T09:00:02Z");
    assert_eq!(left_out(&verdict), [("on another branch", 2)]);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn langchain_is_told_by_the_shape_of_its_json_whatever_the_names() {
    let (_folder, path) = made(
        r#"CREATE TABLE my_talks (id INTEGER PRIMARY KEY, thread_id INTEGER, message TEXT);
        INSERT INTO my_talks (thread_id, message) VALUES
        (7, '{"type": "system", "data": {"content": "Be brief."}}'),
        (7, '{"type": "human", "data": {"content": [{"type": "text", "text": "I moved"}, {"type": "image_url"}, {"type": "text", "text": "to Porto."}], "name": "Ana"}}'),
        (7, '{"type": "ai", "data": {"content": "Noted."}}'), (7, 'broken');"#,
    );
    let (talks, verdict) = read_at(&path);
    assert_eq!(
        (texts(&talks[0]), speakers(&talks[0])),
        (vec!["I moved\nto Porto.", "Noted."], vec!["Ana", "assistant"])
    );
    assert_eq!(left_out(&verdict), [("message is not JSON", 1), ("system prompt", 1)]);
    assert_eq!(verdict.version, "table my_talks, sessions by thread_id");
}

const HERMES: &str = "CREATE TABLE sessions (id, source, parent_session_id, started_at, title);
    CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content, timestamp, tool_calls, active, compacted);";

#[test]
fn a_compressed_conversation_is_followed_to_its_beginning() {
    let (_folder, path) = made(&format!(
        "{HERMES} INSERT INTO sessions VALUES ('one', 'cli', NULL, 1777712400.5, 'Move'), ('two', 'cli', 'one', 1777722400.5, NULL);
        INSERT INTO messages (session_id, role, content, timestamp, active, compacted) VALUES
        ('one', 'user', 'I moved to Porto.', 1777712400.5, 0, 1), ('one', 'user', 'No, to Rome.', 1777712401.5, 0, 0),
        ('two', 'assistant', 'How is Porto?', 1777722400.5, 1, 0);"
    ));
    let (talks, verdict) = read_at(&path);
    assert_eq!((talks.len(), talks[0].title.as_deref()), (1, Some("Move")));
    assert_eq!(texts(&talks[0]), ["I moved to Porto.", "How is Porto?"]);
    assert_eq!(talks[0].sessions.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(left_out(&verdict), [("taken back by the user (active is 0)", 1)]);
}

const WHATSAPP: &str = "CREATE TABLE jid (_id, user, raw_string); CREATE TABLE chat (_id, jid_row_id, subject);
    CREATE TABLE message (_id, chat_row_id, from_me, timestamp, text_data, message_type);
    INSERT INTO jid VALUES (1, 'ana', 'ana@x'); INSERT INTO chat VALUES (1, 1, NULL);";

#[test]
fn a_pause_of_six_hours_begins_a_session() {
    let hour = 3_600_000_i64;
    let rows: Vec<String> = [0, 1, 7, 12]
        .iter()
        .enumerate()
        .map(|(at, hours)| format!("({at}, 1, {}, {}, 'turn {at}', 0)", at % 2, 1_777_712_400_000 + hours * hour))
        .collect();
    let (_folder, path) = made(&format!(
        "{WHATSAPP} INSERT INTO message VALUES {}, (9, 1, 0, 1777712400000, 'Ana joined', 7);",
        rows.join(", ")
    ));
    let (talks, verdict) = read_at(&path);
    assert_eq!(talks[0].sessions.iter().map(|session| session.turns.clone()).collect::<Vec<_>>(), [0..2, 2..4]);
    assert_eq!(talks[0].sessions[1].time.store(), "2026-05-02T16:00:00Z");
    assert_eq!(left_out(&verdict), [("notice of the program", 1)]);
    assert!(verdict.guesses.iter().any(|guess| guess.contains("a pause of 6 hours")), "{verdict}");
}

#[test]
fn hostile_text_of_a_chat_database_is_made_visible() {
    let (_folder, path) = made(&format!(
        "{WHATSAPP} UPDATE jid SET user = 'an' || char(27) || 'a', raw_string = 'x' || char(10);
        INSERT INTO message VALUES (1, 1, 0, 1777712400000, 'a' || char(27) || '[31mb', 0), (1, 1, 0, 1777712400000, 'twin', 0);"
    ));
    let (talks, verdict) = read_at(&path);
    assert_eq!((texts(&talks[0]), speakers(&talks[0])), (vec!["a␛[31mb", "twin"], vec!["an␛a"; 2]));
    // Two rows of one id are two turns.
    assert_eq!(talks[0].turns.iter().map(|turn| turn.id.as_str()).collect::<Vec<_>>(), ["1", "1#2"]);
    assert!(!verdict.to_string().contains('\u{1b}'));
}

#[test]
fn turns_stored_again_are_counted() {
    let (_folder, path) = made(
        r#"CREATE TABLE message_store (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT);
        INSERT INTO message_store (session_id, message) SELECT 's', '{"type": "human", "data": {"content": "same"}}'
        FROM (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3);"#,
    );
    let (talks, verdict) = read_at(&path);
    assert_eq!((talks[0].turns.len(), verdict.repeated_turns), (3, 2));
}

// ---- schemas that nobody described ----

const OWN: &str = "CREATE TABLE messages (id, thread, author, body, created);
    INSERT INTO messages VALUES ('b', 't1', 'Ben', 'How is the view?', 1777712460), ('a', 't1', 'Ana', 'I moved to Porto.', 1777712400),
    ('c', 't2', 'Ana', 'Later.', 1777799999), ('d', 't1', 'system', 'Ana joined', 1777712401);";

#[test]
fn a_table_of_messages_opens_through_guesses_that_are_shown() {
    let (_folder, path) = made(OWN);
    let (talks, verdict) = read_at(&path);
    assert_eq!(talks.iter().map(|talk| talk.id.as_str()).collect::<Vec<_>>(), ["t1", "t2"]);
    assert_eq!(
        (texts(&talks[0]), speakers(&talks[0])),
        (vec!["I moved to Porto.", "How is the view?"], vec!["Ana", "Ben"])
    );
    assert_eq!(talks[0].turns[0].time.store(), "2026-05-02T09:00:00Z");
    assert_eq!(left_out(&verdict), [("system prompt", 1)]);
    let want = "columns: turns=messages,text=body,speaker=author,time=created,conversation=thread,id=id";
    assert!(verdict.guesses.iter().any(|guess| guess == want), "{verdict}");
    assert!(verdict.guesses.iter().any(|guess| guess == "created: seconds since 1970, UTC"), "{verdict}");
}

#[test]
fn a_mapping_of_the_user_comes_before_guesses() {
    let (_folder, path) = made(OWN);
    let open = |map: &str| {
        let map = Some(Mapping::read(map).unwrap());
        Store::open_as(&path, &Reading { map, ..Reading::default() })
    };
    let store = open("turns=messages,text=body,speaker=id,session=thread").unwrap();
    let talk = store.load("messages").unwrap();
    assert_eq!(
        talk.sessions.iter().map(|session| (session.id.as_str(), session.turns.len())).collect::<Vec<_>>(),
        [("t1", 3), ("t2", 1)]
    );
    assert_eq!(speakers(&talk), ["a", "d", "b", "c"]);
    for (map, want) in [
        ("text=body", "names no table"),
        ("turns=notes,text=body", "there is no table 'notes'"),
        ("turns=messages,text=words", "has no column 'words', it has id, thread, author"),
    ] {
        let text = open(map).unwrap_err().to_string();
        assert!(text.contains(want), "{text}");
    }
}

#[test]
fn json_in_a_column_says_who_speaks_and_a_gap_can_be_set() {
    let (_folder, path) = made(
        r#"CREATE TABLE log (n INTEGER PRIMARY KEY, ts TEXT, content TEXT); INSERT INTO log (ts, content) VALUES
        ('2026-05-02T09:00:00Z', '{"role": "user", "content": "I moved."}'),
        ('2026-05-02T11:00:00Z', '{"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}');"#,
    );
    let (talks, _) = read_at(&path);
    assert_eq!((texts(&talks[0]), speakers(&talks[0])), (vec!["I moved.", "Noted."], vec!["user", "assistant"]));
    assert_eq!(talks[0].sessions.len(), 1);
    let reading = Reading { gap_hours: Some(1.5), ..Reading::default() };
    assert_eq!(Store::open_as(&path, &reading).unwrap().load("log").unwrap().sessions.len(), 2);
}

// ---- what cannot be read ----

#[test]
fn pickles_and_encrypted_messages_are_named() {
    let (_folder, path) = made(
        "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint);
        INSERT INTO checkpoints VALUES ('t', '', '1', 'pickle', x'80');",
    );
    let text = Store::open(&path).unwrap_err().to_string();
    assert!(text.contains("LangGraph") && text.contains("pickle"), "{text}");
    let (_folder, path) = made(
        r#"CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id, message_data, created_at);
        INSERT INTO agent_messages VALUES (1, 's', '{"__enc__": 1, "payload": "x"}', '2026-11-30 18:49:53');"#,
    );
    let text = Store::open(&path).unwrap_err().to_string();
    assert!(text.contains("encrypted message"), "{text}");
}

fn named(store: &str) -> Reading {
    Reading { store: Some(store.to_owned()), ..Reading::default() }
}

#[test]
fn two_programs_in_one_database_are_asked_about() {
    let (_folder, path) = made(&format!(
        r#"{WHATSAPP} INSERT INTO message VALUES (1, 1, 0, 1777712400000, 'hello', 0);
        CREATE TABLE message_store (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT);
        INSERT INTO message_store VALUES (1, 's', '{{"type": "human", "data": {{"content": "there"}}}}');"#
    ));
    let error = Store::open(&path).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("--store langchain or --store whatsapp"), "{error}");
    let store = Store::open_as(&path, &named("whatsapp")).unwrap();
    assert_eq!(store.load("ana@x").unwrap().turns[0].text, "hello");
    let error = Store::open_as(&path, &named("icq")).unwrap_err();
    assert!(matches!(error, StoreError::NoSuchStore { .. }) && error.to_string().contains("whatsapp"), "{error}");
}

#[test]
fn a_recognised_database_without_messages_and_an_unknown_one_are_told_apart() {
    let (_folder, path) = made(WEBUI);
    let text = Store::open(&path).unwrap_err().to_string();
    assert!(text.contains("Open WebUI") && text.contains("no messages yet"), "{text}");
    let (_folder, path) = made("CREATE TABLE recipes (id, dish);");
    let text = Store::open(&path).unwrap_err().to_string();
    assert!(text.contains("recipes") && text.contains("Open WebUI") && text.contains("--map turns="), "{text}");
}

#[test]
fn damage_in_a_chat_database_is_told_with_its_table() {
    let rows: Vec<String> = (0..2_000)
        .map(|at| format!("({at}, 1, 0, {}, '{}', 0)", 1_777_712_400_000_i64 + at, "word ".repeat(40)))
        .collect();
    let (_folder, path) = made(&format!("{WHATSAPP} INSERT INTO message VALUES {};", rows.join(", ")));
    let clean = fs::read(&path).unwrap();
    let leaf = (clean.len() / 4096 / 2..).find(|page| clean[page * 4096] == 13).unwrap();
    let mut bytes = clean.clone();
    bytes[leaf * 4096..][..100].iter_mut().for_each(|byte| *byte ^= 0x5a);
    fs::write(&path, &bytes).unwrap();
    let text = Store::open(&path).and_then(|store| store.load("ana@x")).unwrap_err().to_string();
    assert!(text.contains("table 'message'") && text.contains(".recover"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    fs::write(&path, &clean[..clean.len() * 9 / 10]).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Truncated { .. })));
    fs::write(&path, b"").unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::ZeroBytes { .. })));
}

#[test]
fn a_second_table_of_the_same_name_in_the_list_of_tables_is_told() {
    let (_folder, path) = made(&format!(
        "{WHATSAPP} PRAGMA writable_schema = ON;
        INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) SELECT type, name, tbl_name, rootpage, sql
        FROM sqlite_master WHERE name = 'message';"
    ));
    let text = Store::open(&path).unwrap_err().to_string();
    assert!(text.contains("list of tables") && text.contains("already exists"), "{text}");
}

#[test]
fn the_newest_turn_of_a_program_that_is_writing_is_read() {
    let (folder, path) = made(WHATSAPP);
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "WAL").unwrap();
    writer.execute_batch("INSERT INTO message VALUES (1, 1, 0, 1777712400000, 'newest', 0)").unwrap();
    let before = contents(folder.path());
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("ana@x").unwrap().turns[0].text, "newest");
    assert!(store.notices()[0].contains("snapshot copy"), "{:?}", store.notices());
    drop(store);
    assert_eq!(contents(folder.path()), before);
}
