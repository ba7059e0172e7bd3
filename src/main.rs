//! The program: parses the command line, then serves or runs an operator's command.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::listener::passed_sockets;
use landing_api::adapters::system::{SystemClock, check_threads, write_to_pipe};
use landing_api::cli::serve::{ServeError, serve_until_stopped};
use landing_api::cli::{self, CommandError};
use landing_api::config::{Args, Command, Invocation, LogFormat, OutputForm};
use landing_api::http::endpoints;
use landing_api::metrics::{LastError, Metrics};
use landing_api::ports::Clock as _;
use landing_api::telemetry;
use landing_api::wiring::stores::Stores;
use tikv_jemallocator::Jemalloc;
use tokio::runtime::Runtime;
use tracing::Level;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Longest delay of the exit by a DNS lookup.
const LOOK_UP_GRACE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    match Invocation::load(std::env::args_os()) {
        Ok(Invocation::Serve(args)) => serve(&args),
        Ok(Invocation::Operate {
            command,
            form,
            args,
        }) => operate(command, form, &args),
        Ok(Invocation::RunWith(settings)) => report(cli::run_with(&settings)),
        Err(error) => {
            let status = u8::try_from(error.exit_code()).unwrap_or(2);
            // Fails only if nobody reads the output.
            write_to_pipe(move || drop(error.print()));
            ExitCode::from(status)
        }
    }
}

/// Runs an operator's command.
fn operate(command: Command, form: OutputForm, args: &Args) -> ExitCode {
    let log = telemetry::init(Level::WARN, false, |_text| {});
    let ended = Runtime::new()
        .map_err(CommandError::from)
        .and_then(|runtime| {
            let ended = runtime.block_on(cli::run(command, form, args));
            // A thread may still be reading standard input.
            runtime.shutdown_background();
            ended
        });
    drop(log);
    match ended {
        Ok(done) => ExitCode::from(done.status()),
        Err(error) => report(error),
    }
}

/// Prints why a command failed, and returns the exit status.
fn report(error: CommandError) -> ExitCode {
    let status = error.status();
    write_to_pipe(move || cli::report(&error));
    ExitCode::from(status)
}

/// Runs the service.
fn serve(args: &Args) -> ExitCode {
    let is_json = args.log_format == LogFormat::Json;
    // Before any thread starts, because this changes the environment. The log has a thread, too.
    let names = std::env::var_os("LISTEN_FDNAMES").unwrap_or_default();
    let passed = passed_sockets(&names.to_string_lossy());
    let passed = match passed.and_then(|passed| check_threads().map(|()| passed)) {
        Ok(passed) => passed,
        Err(error) => return failed(is_json, error.into()),
    };
    let mut metrics = Metrics::new(endpoints::names());
    metrics.data_dir.clone_from(&args.data_dir);
    let metrics = Arc::new(metrics);
    let warned = Arc::clone(&metrics);
    let on_warning = move |text| {
        let at = SystemClock.now();
        warned.last_error.set(LastError { at, text });
    };
    let log = telemetry::init(args.log_level, is_json, on_warning);
    let ended = Runtime::new().map_err(Into::into).and_then(|runtime| {
        let mut stores = Stores::default();
        let ended = runtime.block_on(serve_until_stopped(args, passed, metrics, &mut stores));
        // Dropping the runtime would wait for every thread with a DNS lookup.
        runtime.shutdown_timeout(LOOK_UP_GRACE);
        // After the last task, which may have charged or stored something.
        let closed = stores.close().map_err(ServeError::from);
        ended.and(closed)
    });
    if ended.is_ok() {
        tracing::info!(log.dropped = log.dropped_lines(), "stopped");
    }
    // The log goes first, so that the error is the last line.
    write_to_pipe(move || drop(log));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(is_json, error),
    }
}

/// Prints the error and returns the exit status.
fn failed(is_json: bool, error: ServeError) -> ExitCode {
    let (status, line) = match error {
        ServeError::Flag(line) => (2, line),
        ServeError::Run(error) => (1, error.to_string()),
    };
    // Fails only if nobody reads standard error.
    write_to_pipe(move || drop(telemetry::write_failure(is_json, &line)));
    ExitCode::from(status)
}
