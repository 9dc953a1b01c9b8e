//! Flag over variable over file over default.

use std::io::Write;

use crate::program::{Program, command, command_with_files, said};

fn file(content: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

/// How many sessions a server takes, of the first three.
fn capacity(program: &Program) -> usize {
    let created = |_| program.rpc("openenv/session/create", &serde_json::json!({}));
    (0..3).map(created).filter(|answer| answer.get("result").is_some()).count()
}

#[test]
fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
    let file = file("max-sessions = 1\nexecutor = \"none\"");
    let path = file.path().to_str().unwrap();
    let with = |arguments: &[&str], variable: Option<&str>| {
        let mut command = command(&["serve", "--port", "0"]);
        command.args(arguments);
        if let Some(value) = variable {
            command.env("SESSION_HTTP_MAX_SESSIONS", value);
        }
        Program::start(command)
    };
    assert_eq!(capacity(&with(&[], None)), 3);
    assert_eq!(capacity(&with(&["--config", path], None)), 1);
    assert_eq!(capacity(&with(&["--config", path], Some("2"))), 2);
    assert_eq!(capacity(&with(&["--config", path, "--max-sessions", "1"], Some("2"))), 1);
}

#[test]
fn the_file_itself_can_be_a_variable() {
    let file = file("port = 0\nmode = \"production\"");
    let mut command = command(&["serve"]);
    command.env("SESSION_HTTP_CONFIG", file.path());
    let program = Program::start(command);
    assert_eq!(program.ask("POST", "/reset", "{}").0, 404);
}

#[test]
fn an_unknown_key_is_named_with_its_file() {
    let file = file("max-session = 1");
    let path = file.path().to_str().unwrap();
    let output = command(&["serve", "--config", path]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output);
    assert!(said.contains("max-session") && said.contains(path), "{said}");
}

#[test]
fn a_bad_variable_is_exit_2_and_named() {
    let output = command(&["serve"]).env("SESSION_HTTP_PORT", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--port"), "{}", said(&output));
}

#[test]
fn limits_that_need_more_open_files_than_there_may_be_are_a_warning() {
    let warns = |sessions: &str| {
        let arguments = ["serve", "--port", "0", "--max-connections", "100", "--max-sessions", sessions];
        let mut command = command_with_files(256, &arguments);
        command.args(["--log-format", "human"]);
        let program = Program::start(command);
        program.before.iter().any(|line| line.contains("ulimit -Hn"))
    };
    assert!(warns("100"));
    assert!(!warns("50"));
}
