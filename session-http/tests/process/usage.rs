//! What is said to somebody who got it wrong, or asks.

use std::net::TcpListener;

use session_http::settings::Layer;

use crate::program::{run, said};

fn flags() -> Vec<String> {
    let command = <Layer as clap::Args>::augment_args(clap::Command::new("any"));
    command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
}

#[test]
fn help_names_every_flag_with_its_variable_and_its_default() {
    let output = run(&["serve", "--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8(output.stdout).unwrap();
    let flags = flags();
    assert!(flags.len() >= 25, "{flags:?}");
    for flag in &flags {
        let variable = format!("[env: SESSION_HTTP_{}=]", flag.to_uppercase().replace('-', "_"));
        let at = help.find(&format!("--{flag} <")).unwrap_or_else(|| panic!("--{flag} is not in the help"));
        let end = help[at..].find(&variable).unwrap_or_else(|| panic!("{variable} is not in the help"));
        let default = help[at..at + end].contains("[default:");
        assert!(default, "--{flag} does not say its default");
    }
    for part in ["Examples:", "Precedence:", "Exit code:", "--config"] {
        assert!(help.contains(part), "{part}");
    }
}

#[test]
fn what_can_not_be_used_is_exit_2_and_a_sentence_that_says_what_to_do() {
    let cases: [(&[&str], &str); 9] = [
        (&["serve", "--prot", "1"], "--port"),
        (&["serve", "--port", "many"], "--port"),
        (&["serve", "--idle-timeout", "soon"], "write a length of time"),
        (&["serve", "--mode", "fast"], "simulation"),
        (&["serve", "--max-sessions", "0"], "--max-sessions must be greater than zero"),
        (&["serve", "--threads", "2"], "--executor pinned"),
        (&["serve", "--termination-grace", "10s"], "shorten"),
        (&["serve", "--log", "=="], "write for example"),
        (&["serve", "--config", "/does/not/exist.toml"], "/does/not/exist.toml"),
    ];
    for (arguments, part) in cases {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn a_port_in_use_is_exit_2_and_names_the_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = run(&["serve", "--port", &port]);
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output);
    assert!(said.contains(&port) && said.contains("--port 0"), "{said}");
}
