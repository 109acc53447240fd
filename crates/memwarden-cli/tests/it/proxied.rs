//! `memwarden proxy` and `memwarden serve-model` before they serve; what they serve is tested by their own crate, by
//! `tests/openai/run` and by `tests/models/run`.

use crate::fixture::Store;

#[test]
#[cfg(not(feature = "server"))]
fn a_build_without_the_proxy_says_how_to_get_one() {
    let message = Store::unmade().refused(&["proxy", "--upstream", "http://127.0.0.1:9"], 2, "bad_input");
    assert!(message.contains("--features server"), "{message}");
}

#[test]
#[cfg(feature = "server")]
fn bad_input_is_named_before_a_port_is_taken() {
    let store = Store::unmade();
    let prices = store.write(
        "prices.toml",
        "date = \"2026-11-30\"\n[[price]]\nmodel = \"toy\"\nprompt = 1\ncompletion = 1\n\
         [[price]]\nmodel = \"toy\"\nprompt = 2\ncompletion = 2\n",
    );
    let missing = store.at("nowhere.toml");
    let right = "http://127.0.0.1:9";
    for (arguments, named) in [
        (vec!["--upstream", "ftp://127.0.0.1"], "`ftp://127.0.0.1`"),
        (
            vec!["--upstream", right, "--prices", &prices],
            "in line 3 and in line 7",
        ),
        (
            vec!["--upstream", right, "--default-purpose", "two words"],
            "two words",
        ),
        (vec!["--upstream", right, "--listen", "nowhere"], "nowhere"),
    ] {
        let message = store.refused(&[&["proxy"], arguments.as_slice()].concat(), 2, "bad_input");
        assert!(message.contains(named), "{message}");
    }
    let message = store.refused(&["proxy", "--upstream", right, "--prices", &missing], 2, "file");
    assert!(message.contains("nowhere.toml"), "{message}");
}

#[test]
#[cfg(not(all(feature = "server", feature = "models")))]
fn a_build_without_models_says_how_to_get_one() {
    let message = Store::unmade().refused(&["serve-model", "m.gguf"], 2, "bad_input");
    assert!(message.contains("--features server,models"), "{message}");
}

#[test]
#[cfg(all(feature = "server", feature = "models"))]
fn a_model_that_cannot_be_served_is_named() {
    let store = Store::unmade();
    let missing = store.refused(&["serve-model", &store.at("nowhere.gguf")], 2, "file");
    assert!(missing.contains("nowhere.gguf"), "{missing}");
    let other = store.write("model.gguf", "PK and so on");
    let message = store.refused(&["serve-model", &other], 2, "bad_input");
    assert!(
        message.contains("model.gguf") && message.contains("GGUF"),
        "{message}"
    );
}
