//! `serve-model`: an endpoint over a language model of this machine, where both are built in.

use crate::Outcome;
use crate::args::{Global, ServeModelArgs};
use crate::failure::Failure;

/// Says how to get it.
#[cfg(not(all(feature = "server", feature = "models")))]
pub(super) fn run(_: &Global, _: &ServeModelArgs) -> Result<Outcome, Failure> {
    Err(Failure::Input(
        "this build serves no models; build it with `cargo build --release -p memwarden-cli --features server,models`"
            .to_owned(),
    ))
}

#[cfg(all(feature = "server", feature = "models"))]
pub(super) use served::run;

#[cfg(all(feature = "server", feature = "models"))]
mod served {
    use super::{Failure, Global, Outcome, ServeModelArgs};
    use crate::output;
    use memwarden::core::model::Chat as _;
    use memwarden::model::{FileError, LanguageModel, Meter, Metered, Prices};
    use memwarden_server::endpoint::Endpoint;
    use serde_json::json;
    use std::sync::Arc;

    /// Serves until SIGINT or SIGTERM.
    pub(in super::super) fn run(global: &Global, args: &ServeModelArgs) -> Result<Outcome, Failure> {
        let model = LanguageModel::open(&args.file).map_err(|error| match error {
            FileError::Io { path, source } => Failure::file(&path, &source),
            error => Failure::Input(error.to_string()),
        })?;
        // What is asked is metered where it is known what for: by the proxy before this.
        let model = Metered::local(model, Arc::new(Meter::in_memory(Prices::default()))).passing_on();
        let name = model.model().to_owned();
        let endpoint = Endpoint::bind(args.listen, Arc::new(model))?;
        endpoint.stop_on_signals()?;
        let address = format!("http://{}", endpoint.address());
        if global.json {
            let first = json!({"listening": address, "model": name});
            output::line(&output::inert_json(&first.to_string()))?;
        } else {
            output::line(&address)?;
        }
        endpoint.run()?;
        Ok(Outcome::Clean)
    }
}
