//! Where trials work: a directory under `xtask` in the target folder, removed afterwards.

use memwarden::{Credential, Handle, Made, Places, Policy, Role, Warden, WardenError, credential_path};
use miette::{Context as _, IntoDiagnostic as _, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask.parent().map_or(xtask.clone(), Path::to_path_buf)
}

/// The target folder of cargo.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .filter(|path| !path.is_empty())
        .map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// A fresh directory under `base`, or under `target/xtask`; removed when dropped.
pub(crate) fn directory(base: Option<&Path>) -> Result<tempfile::TempDir> {
    let base = base.map_or_else(|| target().join("xtask"), Path::to_path_buf);
    std::fs::create_dir_all(&base)
        .and_then(|()| tempfile::Builder::new().prefix("trial-").tempdir_in(&base))
        .into_diagnostic()
        .wrap_err_with(|| format!("`{}` cannot hold a trial", base.display()))
}

/// Store, keys and witness side by side in `directory`.
pub(crate) fn places(directory: &Path) -> Places {
    let at = |name: &str| directory.join(name);
    Places::within(at("store"), at("keys"), at("witness"))
}

/// Makes a store with the policy in `source`.
pub(crate) fn init(directory: &Path, policy: &Policy) -> Result<Made> {
    Warden::init(&places(directory), policy).into_diagnostic()
}

/// The handle of `role` in the store in `directory`.
pub(crate) fn handle(directory: &Path, warden: &Arc<Warden>, role: Role) -> Result<Handle, WardenError> {
    let keys = places(directory).keys_of(warden.store_id())?;
    warden.handle(&Credential::read(&credential_path(&keys, role))?)
}
