//! `session-http serve`.

use std::io::{self, IsTerminal, Write};

use session_core::{BoxError, SessionId, Sessions};
use session_http::settings::{Layer, LogFormat, Settings, SettingsError, read_file};
use session_http::{EchoEnvironment, Exit, OpenEnv, Server, StartError, signals};
use tracing_subscriber::EnvFilter;

use crate::cli::Serve;
use crate::stderr::Stderr;
use crate::{FAILED, USAGE};

/// Why nothing was served.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("--log {filter}: {source}; write for example info, or warn,session_http=debug")]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("{0}. {advice}", advice = advice(.0))]
    Start(#[from] StartError),
    #[error("can't start: {0}")]
    System(#[from] io::Error),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Settings(_) | Self::Filter { .. } | Self::Start(StartError::Bind { .. }) => USAGE,
            Self::Start(StartError::NoListener | StartError::Hook(_)) | Self::System(_) => FAILED,
        }
    }
}

/// What to do about it.
fn advice(error: &StartError) -> &'static str {
    let kind = match error {
        StartError::Bind { source, .. } => source.kind(),
        StartError::NoListener | StartError::Hook(_) => return "Nothing was served",
    };
    if kind == io::ErrorKind::AddrInUse {
        "Another process has this port: end it, choose another with --port, or let --port 0 find a free one"
    } else if kind == io::ErrorKind::PermissionDenied {
        "Ports below 1024 are privileged: choose another with --port"
    } else if kind == io::ErrorKind::AddrNotAvailable {
        "This machine has no such address: choose another with --host (127.0.0.1 for local clients, 0.0.0.0 for all)"
    } else {
        "Choose another address with --host and --port"
    }
}

/// Serves until the end; the exit code.
pub(crate) fn run(arguments: Serve) -> u8 {
    let stderr = match Stderr::start() {
        Ok(stderr) => stderr,
        Err(error) => {
            // A closed standard error must not change how the process ends.
            let _ = writeln!(io::stderr(), "error: can't start a thread: {error}");
            return FAILED;
        }
    };
    match serve(arguments, &stderr) {
        Ok(exit) => {
            stderr.say_last(&exit);
            exit.code()
        }
        Err(failure) => {
            stderr.say_last(format_args!("error: {failure}"));
            failure.code()
        }
    }
}

fn serve(arguments: Serve, stderr: &Stderr) -> Result<Exit, Failure> {
    let file = arguments.config.as_deref().map_or_else(|| Ok(Layer::default()), read_file)?;
    let settings = Settings::decide(&arguments.layer.over(file))?;
    start_log(&settings, stderr)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(workers) = settings.workers {
        runtime.worker_threads(workers.get());
    }
    let runtime = runtime.enable_all().thread_name("worker").build()?;
    let exit = runtime.block_on(serve_until_asked(settings));
    // Not dropped: that would wait for whatever blocks a worker.
    runtime.shutdown_background();
    exit
}

async fn serve_until_asked(settings: Settings) -> Result<Exit, Failure> {
    // Heard from here on, so that a signal during the start is not the end of the process.
    let signals = signals()?;
    let server = Server::bind(&settings.address).await?;
    raise_open_files(&settings);
    let server = server.limits(settings.limits).lame_duck(settings.lame_duck);
    let build = |_: &SessionId| Ok::<_, BoxError>(EchoEnvironment::new());
    let sessions = match settings.threads {
        Some(threads) => Sessions::on_threads(settings.config, threads, build),
        None => Sessions::as_tasks(settings.config, build),
    };
    let service = OpenEnv::new(sessions, EchoEnvironment::about());
    let service = service.mode(settings.mode).body_limit(settings.body_limit);
    Ok(server.serve(service, signals).await?)
}

/// What the process itself has open, generously.
const OWN_FILES: usize = 64;

/// Every connection is an open file, and a session may have one as well; the soft limit is often 1024.
fn raise_open_files(settings: &Settings) {
    let raised = rlimit::increase_nofile_limit(u64::MAX);
    let needed =
        settings.limits.connections.saturating_add(settings.config.capacity()).saturating_add(OWN_FILES);
    match raised {
        Ok(limit) if usize::try_from(limit).is_ok_and(|limit| limit < needed) => tracing::warn!(
            limit,
            needed,
            "--max-connections and --max-sessions may need more open files than the process may have: raise the hard \
             limit (`ulimit -Hn`), or lower them"
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, needed, "the limit of open files stays as it is"),
    }
}

fn start_log(settings: &Settings, stderr: &Stderr) -> Result<(), Failure> {
    let filter = settings.log.clone();
    let filter = EnvFilter::try_new(&filter).map_err(|source| Failure::Filter { filter, source })?;
    let is_human = match settings.log_format {
        LogFormat::Auto => io::stderr().is_terminal(),
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    // A log that can't be written is no reason to panic.
    let stderr = stderr.clone();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || stderr.clone());
    let log = log.log_internal_errors(false);
    if is_human {
        log.with_ansi(io::stderr().is_terminal()).init();
    } else {
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
    }
    Ok(())
}
