//! From global arguments to an open store and a handle.

use crate::args::Global;
use crate::failure::Failure;
use memwarden::{Credential, Handle, Options, Places, Role, Warden, credential_path};
use std::path::PathBuf;
use std::sync::Arc;

/// The directories that the arguments name.
pub(crate) fn places(global: &Global) -> Result<Places, Failure> {
    let store = match &global.store {
        Some(store) => store.clone(),
        None => default_store()?,
    };
    Ok(Places { store, keys: global.keys.clone(), witness: global.witness.clone() })
}

/// An open store, with what was worth a warning printed to stderr.
pub(crate) fn open(global: &Global) -> Result<Arc<Warden>, Failure> {
    let warden = Warden::open_with(&places(global)?, &Options::default())?;
    for warning in warden.warnings() {
        eprintln!("warning: {warning}");
    }
    Ok(warden)
}

/// A handle for the named credential, or for `role` where none is named.
pub(crate) fn handle(global: &Global, role: Role) -> Result<Handle, Failure> {
    let warden = open(global)?;
    let credential = credential(global, &warden.keys().clone(), role)?;
    Ok(warden.handle(&credential)?)
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
    Ok(Credential::read(&path)?)
}

fn default_store() -> Result<PathBuf, Failure> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    from("XDG_DATA_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| from("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("memwarden").join("default"))
        .ok_or_else(|| Failure::Input("neither XDG_DATA_HOME nor HOME is set: name the store with --store".to_owned()))
}
