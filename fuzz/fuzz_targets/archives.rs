//! Bytes that are no text: archives of NumPy, safetensors, models of ONNX.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qkvet_gen::frozen::{case_from_npz, case_from_safetensors, output_from_npz, output_from_safetensors};
use qkvet_run::adapters::onnx::{Constants, Model};

fuzz_target!(|bytes: &[u8]| {
    let _ = case_from_npz(bytes);
    let _ = case_from_safetensors(bytes);
    let _ = output_from_npz(bytes);
    let _ = output_from_safetensors(bytes);
    let _ = Model::read(bytes, &Constants::default());
});
