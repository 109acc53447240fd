//! From global arguments to an open store and a handle.

use crate::args::Global;
use crate::failure::Failure;
use crate::stage_models;
use memwarden::core::encode::Encode;
use memwarden::model::{Meter, Prices};
use memwarden::{
    Credential, Handle, Models, ModelsError, Options, Places, Role, Warden, built_in_encoder,
    credential_path, encoder_from,
};
use memwarden_core::PrincipalId;
use std::fs::OpenOptions;
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More bytes than a credential has.
const CREDENTIAL_ROOM: usize = 512;

/// The directories that the arguments name.
pub(crate) fn places(global: &Global) -> Result<Places, Failure> {
    let store = match &global.store {
        Some(store) => store.clone(),
        None => data("default", "--store")?,
    };
    Ok(Places {
        store,
        keys: global.keys.clone(),
        witness: global.witness.clone(),
    })
}

/// The models that have names.
pub(crate) fn models(global: &Global) -> Result<Models, Failure> {
    match &global.models {
        Some(directory) => Ok(Models::within(directory)),
        None => Ok(Models::within(data("models", "--models")?)),
    }
}

/// The encoder that the arguments name: a directory, or a name from `memwarden models list`.
pub(crate) fn encoder(global: &Global) -> Result<Arc<dyn Encode>, Failure> {
    let Some(given) = &global.encoder else {
        return Ok(built_in_encoder());
    };
    let failed = |error: ModelsError| Failure::Input(format!("`encoder`: {error}"));
    let is_name = given.components().count() == 1 && !given.exists();
    let directory = match given.to_str().filter(|_| is_name) {
        Some(name) => models(global)?.find(name).map_err(failed)?.path,
        None => given.clone(),
    };
    encoder_from(&directory).map_err(failed)
}

/// An open store, with what was worth a warning printed to stderr.
pub(crate) fn open(global: &Global) -> Result<Arc<Warden>, Failure> {
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let options = Options {
        encoder: Some(encoder(global)?),
        chats: stage_models::models(&global.stage_models, &meter)?,
        ..Options::default()
    };
    let warden = Warden::open_with(&places(global)?, &options)?;
    for warning in warden.warnings() {
        eprintln!("warning: {warning}");
    }
    Ok(warden)
}

/// A handle for the named credential, or for `role` where none is named.
pub(crate) fn handle(global: &Global, role: Role) -> Result<Handle, Failure> {
    let warden = open(global)?;
    let credential = credential(global, &warden.keys().clone(), role)?;
    let handle = warden.handle(&credential)?;
    match &global.token {
        Some(token) => Ok(handle.within(token)?),
        None => Ok(handle),
    }
}

/// The credential that the arguments name: a file, or a role whose file lies in the key directory.
pub(crate) fn credential(global: &Global, keys: &std::path::Path, role: Role) -> Result<Credential, Failure> {
    let path = match &global.credential {
        None => credential_path(keys, role),
        Some(path) if path.exists() => path.clone(),
        Some(path) => match path.to_str().and_then(|name| name.parse::<Role>().ok()) {
            Some(role) => credential_path(keys, role),
            None => path.clone(),
        },
    };
    if !path.try_exists().unwrap_or(true) {
        let path = path.display();
        return Err(Failure::Input(format!(
            "`credential`: `{path}` does not exist: expected a credential file or a role"
        )));
    }
    Ok(Credential::read(&path)?)
}

/// Whether a key's word counts for who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vouches {
    /// It does not.
    Nothing,
    /// What it hands over as said by a user was said by one.
    Roles,
}

impl Vouches {
    pub(crate) const fn of(attest_roles: bool) -> Self {
        if attest_roles { Self::Roles } else { Self::Nothing }
    }
}

/// Registers a principal, whose credential goes to a new file and nowhere else.
///
/// The file is made and filled to more than its size first: a principal whose credential found no room could
/// never act, and its name would be in the log for good.
pub(crate) fn register(
    handle: &Handle,
    name: &str,
    role: Role,
    domain: Option<&str>,
    vouches: Vouches,
    path: &Path,
) -> Result<PrincipalId, Failure> {
    let failed = |error: &std::io::Error| Failure::file(path, error);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| failed(&error))?;
    let done = (|| {
        file.write_all(&[b'\n'; CREDENTIAL_ROOM])
            .and_then(|()| file.sync_all())
            .map_err(|error| failed(&error))?;
        let credential = match vouches {
            Vouches::Nothing => handle.register(name, role, domain)?,
            Vouches::Roles => handle.register_attesting(name, role, domain)?,
        };
        let line = format!("{}\n", credential.to_text());
        file.rewind()
            .and_then(|()| file.write_all(line.as_bytes()))
            .and_then(|()| file.set_len(line.len() as u64))
            .and_then(|()| file.sync_all())
            .map_err(|error| failed(&error))?;
        Ok(credential.principal())
    })();
    if done.is_err() {
        // What is left of it is no credential. Its loss is told already.
        let _ = std::fs::remove_file(path);
    }
    done
}

/// A directory of the program's in the user's data directory; `argument` is what names another.
fn data(name: &str, argument: &str) -> Result<PathBuf, Failure> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    from("XDG_DATA_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| from("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("memwarden").join(name))
        .ok_or_else(|| {
            Failure::Input(format!(
                "neither XDG_DATA_HOME nor HOME is set: name the directory with {argument}"
            ))
        })
}
