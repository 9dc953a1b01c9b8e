//! Servers under test: started on a free port, asked whether they are ready, measured through `/proc`, and ended when
//! the guard goes.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::failure::{Context, Failure, Result};

/// How long a server may take until it answers.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// Ticks a second of the times in `/proc/PID/stat`; Linux has had 100 on every platform for decades.
const TICKS_PER_SECOND: f64 = 100.0;

/// A running server. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts a server and waits until `GET /health` is answered with 200. `--port` is added; what it says goes to
    /// the file `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let port = free_port()?;
        let log = fs::File::options().create(true).append(true).open(log).context(log.display())?;
        let also = log.try_clone().context("the server's log")?;
        command.args(["--port", &port.to_string()]).stdin(Stdio::null()).stdout(log).stderr(also);
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().context(format_args!("cannot start {name}"))?;
        let mut server = Self { child, port };
        server.wait_until_ready().context(name)?;
        Ok(server)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Memory in use (resident), in bytes.
    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        let status = self.proc_file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().context("VmRSS")?;
        Ok(kib * 1024)
    }

    /// CPU time used so far, all threads, the ended ones too; in seconds, 10 ms fine.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(&self.proc_file("stat")?)
    }

    /// Asks it to end with SIGTERM; returns how long that took, or fails when it takes longer than `limit`.
    pub(crate) fn terminate(mut self, limit: Duration) -> Result<Duration> {
        let begun = Instant::now();
        let mut kill = Command::new("kill");
        crate::workspace::run(kill.args(["-TERM", &self.child.id().to_string()]))?;
        while begun.elapsed() < limit {
            if let Some(status) = self.child.try_wait().context("waiting for the server")? {
                let took = begun.elapsed();
                return if status.success() { Ok(took) } else { Err(ended(status)) };
            }
            thread::sleep(Duration::from_millis(2));
        }
        Err(Failure::new(format!("still running {limit:?} after SIGTERM")))
    }

    fn wait_until_ready(&mut self) -> Result {
        let begun = Instant::now();
        while begun.elapsed() < READY_WITHIN {
            if let Some(status) = self.child.try_wait().context("waiting for the server")? {
                return Err(ended(status));
            }
            if is_healthy(self.address()) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(Failure::new(format!("not ready within {READY_WITHIN:?}")))
    }

    fn proc_file(&self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/{name}", self.child.id());
        fs::read_to_string(&path).context(path)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already when these fail.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time this very process has used so far.
pub(crate) fn own_cpu_seconds() -> Result<f64> {
    cpu_seconds(&fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?)
}

/// Fields 14 and 15, counted behind the program's name, which may hold blanks and parentheses itself.
fn cpu_seconds(stat: &str) -> Result<f64> {
    let (_, fields) = stat.rsplit_once(") ").context("an odd /proc/PID/stat")?;
    let mut ticks = 0;
    for field in fields.split(' ').skip(11).take(2) {
        ticks += field.parse::<u32>().context("an odd /proc/PID/stat")?;
    }
    Ok(f64::from(ticks) / TICKS_PER_SECOND)
}

fn ended(status: std::process::ExitStatus) -> Failure {
    Failure::new(format!("the server ended with {status}"))
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr().context("no free port")?.port())
}

fn is_healthy(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")?;
        let mut start = [0; 12];
        stream.read_exact(&mut start)?;
        Ok(&start == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::cpu_seconds;

    #[test]
    fn cpu_time_is_read_behind_a_name_with_blanks() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 120 0 0 0 150 50 0 0 20 0 1 0 100 0 0";
        assert!((cpu_seconds(stat).expect("a good line") - 2.0).abs() < 1e-9);
    }
}
