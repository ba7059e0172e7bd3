//! The socket for the operator's commands, `admin.sock` in the data directory.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::adapters::files::{PRIVATE_FILE, if_there};

pub(super) const NAME: &str = "admin.sock";

/// A listening socket, whose file is removed on drop.
#[derive(Debug)]
pub struct AdminSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl AdminSocket {
    /// Listens in `data_dir`, whose lock the caller holds: an existing socket is a dead one.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn bind(data_dir: &Path) -> io::Result<Self> {
        let directory = File::open(data_dir)?;
        let (made, path) = (data_dir.join("admin.sock.new"), data_dir.join(NAME));
        if_there(fs::remove_file(&made))?;
        let listener = UnixListener::bind(short(&directory, "admin.sock.new"))?;
        // Before it gets its name, so that nobody else connects in between.
        fs::set_permissions(&made, Permissions::from_mode(PRIVATE_FILE))?;
        fs::rename(&made, &path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// The listener, non-blocking.
    ///
    /// # Errors
    /// When the system is out of file descriptors.
    pub fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        // If this fails, the next start replaces the file.
        let _ = fs::remove_file(&self.path);
    }
}

/// Connects to the service that runs on `data_dir`; `None` if none does. The stream is non-blocking.
///
/// # Errors
/// When there is an unusable socket.
pub fn connect(data_dir: &Path) -> io::Result<Option<UnixStream>> {
    use io::ErrorKind::{ConnectionRefused, NotADirectory, NotFound};
    let connected =
        File::open(data_dir).and_then(|directory| UnixStream::connect(short(&directory, NAME)));
    match connected {
        Ok(stream) => {
            stream.set_nonblocking(true)?;
            Ok(Some(stream))
        }
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | ConnectionRefused) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A path to `name` in the open `directory` that fits into a socket address, which has room for 107 bytes.
fn short(directory: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}
