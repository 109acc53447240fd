#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| memwarden_fuzz::gguf(bytes));
