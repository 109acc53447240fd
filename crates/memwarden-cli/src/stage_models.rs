//! Models by the names that a policy asks for, as the command line gives them.

use crate::failure::Failure;
use memwarden::core::model::Chat;
use memwarden::guard::DEFAULT_MODEL;
use memwarden::model::{ApiKey, EndpointConfig, KeyError, Meter, Metered};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where an endpoint's key is looked for; one that wants none needs none.
const KEY_VARIABLE: &str = "MEMWARDEN_MODEL_KEY";

/// Opens the models behind one meter.
pub(crate) fn models(
    given: &[String],
    meter: &Arc<Meter>,
) -> Result<BTreeMap<String, Arc<dyn Chat>>, Failure> {
    let mut models: BTreeMap<String, Arc<dyn Chat>> = BTreeMap::new();
    for text in given {
        let (name, spec) = named(text);
        let endpoint = spec
            .strip_prefix("endpoint:")
            .and_then(|rest| rest.rsplit_once('#'));
        let Some((url, model)) = endpoint.filter(|(url, model)| !url.is_empty() && !model.is_empty()) else {
            return Err(Failure::Input(format!(
                "stage model `{text}`: expected NAME=endpoint:URL#MODEL or endpoint:URL#MODEL"
            )));
        };
        let key = match ApiKey::from_env(KEY_VARIABLE) {
            Ok(key) => Some(key),
            Err(KeyError::Missing { .. }) => None,
            Err(error) => return Err(Failure::Input(error.to_string())),
        };
        let config = EndpointConfig {
            key,
            ..EndpointConfig::new(url, model)
        };
        let chat = Metered::endpoint(config, Arc::clone(meter));
        if models.insert(name.to_owned(), Arc::new(chat)).is_some() {
            return Err(Failure::Input(format!("stage model `{name}` is given twice")));
        }
    }
    Ok(models)
}

/// A name before the first `=`, unless that stands in an address.
fn named(text: &str) -> (&str, &str) {
    match text.split_once('=') {
        Some((name, spec)) if !name.contains(':') => (name, spec),
        _ => (DEFAULT_MODEL, text),
    }
}
