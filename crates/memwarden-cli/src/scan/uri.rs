//! File names as SARIF wants them: relative to the working directory, percent-encoded.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// The reference to a path.
pub(super) fn of(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    encoded(&relative(path, &here))
}

/// The path as seen from `here`.
fn relative(path: &Path, here: &Path) -> PathBuf {
    if path.is_relative() {
        return path
            .components()
            .filter(|part| *part != Component::CurDir)
            .collect();
    }
    let mut up = PathBuf::new();
    let mut base = here;
    loop {
        if let Ok(below) = path.strip_prefix(base) {
            return up.join(below);
        }
        let Some(parent) = base.parent() else {
            return path.to_owned();
        };
        base = parent;
        up.push("..");
    }
}

fn encoded(path: &Path) -> String {
    let mut uri = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte))
            }
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_path_is_relative_and_encoded() {
        let here = Path::new("/srv/tree");
        for (path, uri) in [
            ("./notes/a b.md", "notes/a%20b.md"),
            ("../other/x.md", "../other/x.md"),
            ("/srv/tree/100%/朝.md", "100%25/%E6%9C%9D.md"),
            ("/srv/other/x:y.md", "../other/x%3Ay.md"),
            ("/etc/x", "../../etc/x"),
        ] {
            assert_eq!(encoded(&relative(Path::new(path), here)), uri);
        }
        assert_eq!(encoded(Path::new(OsStr::from_bytes(b"caf\xe9"))), "caf%E9");
    }
}
