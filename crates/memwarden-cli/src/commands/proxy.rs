//! `proxy`: the metering proxy, where it is built in.

use crate::Outcome;
use crate::args::{Global, ProxyArgs};
use crate::failure::Failure;

/// Says how to get it.
#[cfg(not(feature = "server"))]
pub(super) fn run(_: &Global, _: &ProxyArgs) -> Result<Outcome, Failure> {
    Err(Failure::Input(
        "this build has no proxy; build it with `cargo build --release -p memwarden-cli --features server`"
            .to_owned(),
    ))
}

#[cfg(feature = "server")]
pub(super) use served::run;

#[cfg(feature = "server")]
mod served {
    use super::{Failure, Global, Outcome, ProxyArgs};
    use crate::output;
    use memwarden::model::{By, Meter, MeterError, Prices};
    use memwarden_server::proxy::{Limits, Proxy, Settings, Upstream};
    use serde_json::json;
    use std::sync::Arc;

    /// Serves until SIGINT or SIGTERM.
    pub(in super::super) fn run(global: &Global, args: &ProxyArgs) -> Result<Outcome, Failure> {
        let upstream = Upstream::parse(&args.upstream).map_err(|error| Failure::Input(error.to_string()))?;
        let settings = Settings {
            listen: args.listen,
            upstream: upstream.clone(),
            default_purpose: args.default_purpose.clone(),
            limits: Limits::default(),
        };
        let meter = Arc::new(meter(args)?);
        let proxy = Proxy::bind(settings, Arc::clone(&meter))?;
        proxy.stop_on_signals()?;
        let address = format!("http://{}", proxy.address());
        if global.json {
            let first = json!({"listening": address, "upstream": upstream.to_string()});
            output::line(&output::inert_json(&first.to_string()))?;
        } else {
            output::line(&address)?;
        }
        proxy.run()?;
        if !global.json {
            summary(&meter)?;
        }
        Ok(Outcome::Clean)
    }

    /// One line for each purpose. `meter report` says more of what is in the file.
    fn summary(meter: &Meter) -> Result<(), Failure> {
        for row in meter.report(By::Purpose).rows {
            let sum = &row.sum;
            let cost = sum
                .whole_cost()
                .map_or_else(|| "unknown".to_owned(), |cost| format!("{cost} USD"));
            output::line(&format!(
                "{}: {} calls, {} without a whole reply, {} + {} tokens, cost {cost}",
                row.name,
                sum.calls,
                sum.failed.values().sum::<u64>(),
                sum.prompt_tokens,
                sum.completion_tokens,
            ))?;
        }
        Ok(())
    }

    fn meter(args: &ProxyArgs) -> Result<Meter, Failure> {
        let prices = match &args.prices {
            None => Prices::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
                let prices = Prices::parse(&text);
                prices.map_err(|error| Failure::Input(format!("`{}`: {error}", path.display())))?
            }
        };
        match &args.meter {
            None => Ok(Meter::in_memory(prices)),
            Some(path) => Meter::append_to(path, prices).map_err(|error| match error {
                MeterError::File { path, source } => Failure::file(&path, &source),
                error => Failure::Service(error.to_string()),
            }),
        }
    }
}
