//! Lines of a program that speaks the wire.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use qkvet_gen::frozen::call_of;
use qkvet_gen::from_token;
use qkvet_run::AnswerReader;
use qkvet_spec::Call;

const TOKEN: &str = "qk1:value;float32;causal;scale=0.5;mask=1x1x1x2:01;Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1";

thread_local! {
    static READER: AnswerReader = AnswerReader::new().expect("a folder");
}
static CALL: LazyLock<Option<Call>> = LazyLock::new(|| call_of(&from_token(TOKEN).ok()?).ok());

fuzz_target!(|line: &[u8]| {
    READER.with(|reader| {
        let _ = reader.hello(line);
        if let Some(call) = &*CALL {
            let _ = reader.reply(line, 7, call);
        }
    });
});
