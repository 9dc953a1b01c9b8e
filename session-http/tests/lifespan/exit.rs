//! The exit tells the truth about environments that misbehave.

use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use session_core::{BoxError, Config, Environment, SessionId, Sessions, Threads};
use session_http::{Answer, Call, Failure};

use crate::app::{App, Running};

/// How an environment's close ends.
enum Close {
    Fails,
    /// Blocks its thread until the other end is dropped.
    Hangs(Receiver<()>),
}

struct Stubborn(Close);

impl Environment for Stubborn {
    type Call = Call;
    type Reply = Answer;

    async fn call(&self, _call: Call) -> Answer {
        Err(Failure::Unsupported("nothing is"))
    }

    async fn close(&self) -> Result<(), BoxError> {
        match &self.0 {
            Close::Fails => Err("the disk is full".into()),
            Close::Hangs(until) => {
                // An error is the end of the test.
                let _ = until.recv();
                Ok(())
            }
        }
    }
}

fn app(close: impl Fn() -> Close + Send + Sync + 'static) -> App {
    let config = Config::builder()
        .close_timeout(Duration::from_millis(50))
        .interrupt_timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let build = move |_: &SessionId| Ok::<_, BoxError>(Stubborn(close()));
    App::over(Sessions::on_threads(config, Threads::PerSession, build))
}

#[tokio::test]
async fn a_close_that_fails_is_told_with_the_environments_words_and_leaves_nothing_behind() {
    let app = app(|| Close::Fails);
    let running = Running::start(&app, |server| server).await;
    app.open("full").await;
    let exit = running.end().await;
    let summary = exit.to_string();
    assert_eq!(exit.code(), 0, "{summary}");
    for part in ["session full (shutdown): close failed after", "close again failed", ": the disk is full"] {
        assert!(summary.contains(part), "{summary}");
    }
}

#[tokio::test]
async fn a_close_that_hangs_is_abandoned_named_and_the_exit_is_not_clean() {
    let (hold, held) = mpsc::channel();
    let held = Mutex::new(Some(held));
    let app = app(move || Close::Hangs(held.lock().unwrap().take().unwrap()));
    let running = Running::start(&app, |server| server).await;
    app.open("stuck").await;
    let exit = running.end().await;
    let summary = exit.to_string();
    assert_eq!(exit.code(), 1, "{summary}");
    for part in ["1 abandoned", "session stuck (shutdown): close abandoned after", "1 thread left behind"] {
        assert!(summary.contains(part), "{summary}");
    }
    drop(hold);
}
