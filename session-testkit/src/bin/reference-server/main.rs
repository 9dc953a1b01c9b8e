//! `reference-server`: the agreed reference environment of the OpenEnv compatibility kit, on the public APIs of
//! `session-http` and `session-core` alone.
//!
//! The harness sets `REF_*` variables, starts it, talks to it, sends it a signal, and reads the event log.

mod instance;
mod kinds;
mod pending;
mod reference;
mod settings;
mod tasks;

use clap::{Parser, ValueEnum};
use instance::Stage;
use kinds::{Gym, McpStyle, ServerOnly};
use pending::Planting;
use reference::{Inner, References, Tasks};
use session_core::{BoxError, Config, Sessions, Threads};
use session_http::{About, Answer, Call, EchoEnvironment, Exit, Mode, OpenEnv, Server, signals};
use session_testkit::Recorder;
use settings::{EnvironmentKind, Settings};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// Serves the reference environment. What it is to do wrong is read from REF_* variables.
#[derive(Debug, Parser)]
struct Arguments {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1", env = "REF_HOST")]
    host: String,
    /// The port to listen on; 0 is any free one.
    #[arg(long, default_value_t = 8000, env = "REF_PORT")]
    port: u16,
    /// Where environments live [default: per-session, or shared if REF_SINGLE_THREAD=1].
    #[arg(long)]
    executor: Option<Executor>,
    /// How many threads `pinned` has.
    #[arg(long, default_value = "4")]
    threads: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Executor {
    /// Each on a thread of its own.
    PerSession,
    /// All on one thread.
    Shared,
    /// Each on one of so many threads.
    Pinned,
    /// On none: as tasks.
    None,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // RUST_LOG=info shows where it listens and what it does; the harness wants none of it.
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_env_filter(filter).init();
    match Settings::from_env() {
        Ok(settings) => run(&arguments, settings),
        Err(error) => {
            say(&error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the last words of a program belong on standard error")]
fn say(text: &str) {
    eprintln!("{text}");
}

fn run(arguments: &Arguments, settings: Settings) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("no runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let exit = runtime.block_on(serve(arguments, settings));
    // An environment that hangs as a task has a worker for ever: don't wait for it. The report has named it.
    runtime.shutdown_background();
    match exit {
        Ok(exit) => {
            say(&exit.to_string());
            ExitCode::from(exit.code())
        }
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(2)
        }
    }
}

async fn serve(arguments: &Arguments, settings: Settings) -> Result<Exit, BoxError> {
    let config = config(&settings)?;
    let mode = if settings.production { Mode::Production } else { Mode::Simulation };
    let (sessions, about) = match settings.kind {
        EnvironmentKind::Echo => {
            (sessions::<EchoEnvironment>(arguments, settings, config)?, EchoEnvironment::about())
        }
        EnvironmentKind::Gym => (sessions::<Gym>(arguments, settings, config)?, Gym::about()),
        EnvironmentKind::McpStyle => (sessions::<McpStyle>(arguments, settings, config)?, McpStyle::about()),
        EnvironmentKind::ServerOnly => {
            (sessions::<ServerOnly>(arguments, settings, config)?, ServerOnly::about())
        }
    };
    let server = Server::bind(&format!("{}:{}", arguments.host, arguments.port)).await?;
    Ok(server.serve(service(sessions, about, mode), signals()?).await?)
}

fn service(sessions: Sessions<Call, Answer>, about: About, mode: Mode) -> OpenEnv {
    OpenEnv::new(sessions, about).mode(mode)
}

fn config(settings: &Settings) -> Result<Config, BoxError> {
    let config = Config::builder().capacity(settings.max_sessions).idle_timeout(settings.session_timeout);
    let config = match settings.grace {
        Some(grace) => config.grace_period(grace),
        None => config,
    };
    let config = match settings.fake_pending {
        Some(_) => config.build_timeout(None), // the planted one is never done
        None => config,
    };
    Ok(config.build()?)
}

fn sessions<E: Inner>(
    arguments: &Arguments,
    settings: Settings,
    config: Config,
) -> Result<Sessions<Call, Answer>, BoxError> {
    let recorder = match &settings.event_log {
        Some(path) => Recorder::only_log(path)?,
        None => Recorder::off(),
    };
    let tasks = if settings.tasks { Tasks::Offered } else { Tasks::Absent };
    let factory = References::<E>::new(Stage::new(recorder, settings.faults), tasks);
    let (factory, hold) = Planting::new(factory, settings.fake_pending);
    let unsaid = if settings.single_thread { Executor::Shared } else { Executor::PerSession };
    let sessions = match arguments.executor.unwrap_or(unsaid) {
        Executor::PerSession => Sessions::on_threads(config, Threads::PerSession, factory),
        Executor::Shared => Sessions::on_threads(config, Threads::Shared, factory),
        Executor::Pinned => Sessions::on_threads(config, Threads::Pinned(arguments.threads), factory),
        Executor::None => Sessions::as_tasks(config, factory),
    };
    hold.plant(&sessions);
    Ok(sessions)
}
