//! Files of tensors: every bit comes back in every container, and whatever else is in a file ends
//! in an error.

use proptest::prelude::*;
use qkvet_engine::format::{decode, encode, max_finite, smallest_subnormal};
use qkvet_gen::GenError;
use qkvet_gen::frozen::{
    FrozenCase, StoredOutput, case_from_json, case_from_npz, case_from_safetensors, case_to_json,
    case_to_npz, case_to_safetensors, output_from_json, output_from_npz, output_from_safetensors,
    output_to_json, output_to_npz, output_to_safetensors, read_group, read_manifest,
};
use qkvet_spec::{Dtype, Tensor};

use crate::frozen_text::{small, smoke};

const ID: &str = "c-0123456789abcdef";

type Read<T> = fn(&[u8]) -> Result<T, GenError>;
type Write<T> = fn(&T) -> Result<Vec<u8>, GenError>;

const CASES: [(Write<FrozenCase>, Read<FrozenCase>); 2] =
    [(case_to_safetensors, case_from_safetensors), (case_to_npz, case_from_npz)];

fn json_output(bytes: &[u8]) -> Result<StoredOutput, GenError> {
    output_from_json(&String::from_utf8_lossy(bytes))
}

const OUTPUTS: [(Write<Tensor>, Read<StoredOutput>); 3] = [
    (|output| output_to_safetensors(ID, output), output_from_safetensors),
    (|output| output_to_npz(ID, output), output_from_npz),
    (|output| output_to_json(ID, output).map(String::into_bytes), json_output),
];

#[test]
fn cases_come_back_bit_by_bit() {
    for case in smoke() {
        for (write, read) in CASES {
            let bytes = write(&case).unwrap();
            let back = read(&bytes).unwrap();
            assert!(write(&back).unwrap() == bytes, "{} does not come back", case.id);
            assert_eq!(back.case, case.case);
            assert!(
                case_to_json(&back).unwrap() == case_to_json(&case).unwrap(),
                "{} loses something",
                case.id
            );
        }
    }
}

/// Every bit pattern of a format of up to 16 bits, the edges of the others; NaN as the one quiet
/// NaN.
fn patterns(dtype: Dtype) -> Vec<f64> {
    if dtype.size() <= 2 {
        let all = (0..1u32 << (8 * dtype.size()))
            .flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size()));
        return decode(&all.collect::<Vec<u8>>(), dtype);
    }
    let edges = [0.0, 1.0, 1.0 / 3.0, max_finite(dtype), smallest_subnormal(dtype), f64::INFINITY];
    let edges = edges.iter().flat_map(|x| [*x, -x]).chain([f64::NAN]).collect::<Vec<_>>();
    decode(&encode(&edges, dtype), dtype)
}

#[test]
fn outputs_come_back_bit_by_bit() {
    for dtype in Dtype::ALL {
        let data = patterns(dtype);
        for shape in [vec![1, 1, 1, data.len()], vec![data.len()], vec![data.len(), 1, 1]] {
            let output = Tensor { dtype, shape, data: data.clone() };
            for (write, read) in OUTPUTS {
                let bytes = write(&output).unwrap();
                assert_eq!(write(&output).unwrap(), bytes);
                let back = read(&bytes).unwrap();
                assert_eq!(back.id.as_deref(), Some(ID));
                assert_eq!((back.output.dtype, &back.output.shape), (dtype, &output.shape));
                assert_eq!(
                    encode(&back.output.data, dtype),
                    encode(&output.data, dtype),
                    "{dtype}"
                );
            }
        }
    }
}

#[test]
fn outputs_of_any_shape_are_read_and_judged_elsewhere() {
    for shape in [vec![], vec![0], vec![2, 0, 3]] {
        let data = vec![1.0; shape.iter().product()];
        let output = Tensor { dtype: Dtype::Float32, shape, data };
        for (write, read) in &OUTPUTS[..2] {
            assert_eq!(read(&write(&output).unwrap()).unwrap().output, output);
        }
    }
}

#[test]
fn ill_formed_outputs_are_not_written() {
    let output = Tensor { dtype: Dtype::Float32, shape: vec![2, 2], data: vec![0.0; 3] };
    for (write, _) in OUTPUTS {
        assert!(write(&output).is_err());
    }
    assert!(
        output_to_npz("../x", &Tensor { dtype: Dtype::Float32, shape: vec![1], data: vec![0.0] })
            .is_err()
    );
}

#[test]
fn every_truncation_is_refused() {
    let case = small(Dtype::Bfloat16);
    for (write, read) in CASES {
        let bytes = write(&case).unwrap();
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
    }
    let output = Tensor { dtype: Dtype::Bfloat16, shape: vec![1, 2, 3], data: vec![1.0; 6] };
    for (write, read) in OUTPUTS {
        let bytes = write(&output).unwrap();
        // The last byte of a JSON document is a line's end.
        for length in 0..bytes.len() - 1 {
            assert!(read(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
    }
}

/// Replaces the first occurrence of some bytes by as many others.
fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|window| window == from).expect("bytes to change");
    let mut bytes = bytes.to_vec();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

fn refused<T: std::fmt::Debug>(read: Read<T>, bytes: &[u8], expected: &str) {
    let error = read(bytes).expect_err(expected).to_string();
    assert!(error.contains(expected), "{error}\nlacks {expected}");
}

#[test]
fn changed_files_are_refused() {
    let bytes = case_to_safetensors(&small(Dtype::Float32)).unwrap();
    let check = |from: &str, to: &str, expected: &str| {
        refused(case_from_safetensors, &patched(&bytes, from.as_bytes(), to.as_bytes()), expected);
    };
    check("\"answer\"", "\"answre\"", "array at `answer`: expected one, got none");
    check(
        "\"bounds/f32\"",
        "\"bounds_f32\"",
        "array at file: expected known names only, got `bounds_f32` too",
    );
    check("\"case\"", "\"cave\"", "text at `case`");
    check("\"BOOL\"", "\"I8\"  ", "format at array `mask`: expected bool, a floating-point format");
    check("\\\"format\\\": 1", "\\\"format\\\": 9", "document at `format` of case");
    check("\\\"scale\\\": 0.09375", "\\\"scale\\\": 0.12500", "the content's");
    check(
        "\\\"float32\\\"",
        "\\\"float64\\\"",
        "format at array `bias`: expected float64, got float32",
    );
    // The decimals beside an answer in float64 must be the answer's.
    let wide = case_to_safetensors(&small(Dtype::Float64)).unwrap();
    let find = |text: &str, from: usize| {
        from + wide[from..].windows(text.len()).position(|w| w == text.as_bytes()).unwrap()
    };
    let digit = find("0.", find("decimals", 0)) + 2;
    let mut other = wide.clone();
    other[digit] ^= 1;
    refused(
        case_from_safetensors,
        &other,
        "numbers at `decimals`: expected those of the array `answer`",
    );
    let mut one_bit = bytes.clone();
    // Answer and bounds come first: behind them lie the inputs, on which the id depends.
    *one_bit.last_mut().unwrap() ^= 1;
    assert!(case_from_safetensors(&one_bit).is_err());
    let mut longer = bytes;
    longer.push(0);
    assert!(case_from_safetensors(&longer).is_err());
    refused(
        case_from_safetensors,
        &u64::MAX.to_le_bytes(),
        "file at its header: expected a safetensors file",
    );
}

#[test]
fn hostile_archives_are_refused() {
    let output = Tensor { dtype: Dtype::Bfloat16, shape: vec![1, 2, 3], data: vec![1.0; 6] };
    let bytes = output_to_npz(ID, &output).unwrap();
    let check = |from: &[u8], to: &[u8], expected: &str| {
        refused(output_from_npz, &patched(&bytes, from, to), expected)
    };
    // The checksum of an entry covers its bytes, so a change inside it is noticed by the container.
    check(b"(1, 2, 3)", b"(9, 9, 9)", "file at entry 2");
    let renamed =
        patched(&patched(&bytes, b"output.npy", b"output.npz"), b"output.npy", b"output.npz");
    refused(
        output_from_npz,
        &renamed,
        "entry at entry 2: expected a name that ends in .npy, got `output.npz`",
    );
    // The method of the first local header: deflated.
    let mut deflated = bytes.clone();
    deflated[8] = 8;
    let central = deflated.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    deflated[central + 10] = 8;
    refused(output_from_npz, &deflated, "numpy.savez");
    refused(output_from_npz, b"PK", "file at its directory");
    // A size that is not there.
    let mut huge = bytes.clone();
    huge[central + 20..central + 28].copy_from_slice(&[0xfe; 8]);
    assert!(output_from_npz(&huge).is_err());
}

#[test]
fn names_of_formats_are_not_guessed() {
    let tensor = |dtype| Tensor { dtype, shape: vec![1], data: vec![1.0] };
    for (write, read) in OUTPUTS {
        assert_eq!(
            read(&write(&tensor(Dtype::Float16)).unwrap()).unwrap().output.dtype,
            Dtype::Float16
        );
        assert_eq!(
            read(&write(&tensor(Dtype::Bfloat16)).unwrap()).unwrap().output.dtype,
            Dtype::Bfloat16
        );
    }
    let json = |text: &str, expected: &str| refused(json_output, text.as_bytes(), expected);
    json(
        r#"{"format":1,"dtype":"int8","output":{"shape":[1],"rows":[[1]]}}"#,
        "format at `dtype`: expected one of float64, float32, bfloat16, float16",
    );
    json(
        r#"{"format":1,"dtype":"float16","output":{"shape":[1],"rows":[[0.1]]}}"#,
        "element at output",
    );
    json(
        r#"{"format":1,"dtype":"float16","output":{"shape":[1],"rows":[["0.1"]]}}"#,
        "document at line 1",
    );
    json(
        r#"{"format":1,"dtype":"float16","output":{"shape":[1],"rows":[[NaN]]}}"#,
        "document at line 1",
    );
    json(
        r#"{"format":1,"dtype":"float16","output":{"shape":[2],"rows":[[1]]}}"#,
        "elements at row 0 of output",
    );
    json(
        r#"{"format":1,"dtype":"float16","output":{"shape":[18446744073709551615,9,1],"rows":[[1]]}}"#,
        "rows at output",
    );
    json(
        r#"{"format":2,"dtype":"float16","output":{"shape":[1],"rows":[[1]]}}"#,
        "document at `format`",
    );
    json(
        r#"{"format":1,"id":"x","dtype":"float16","output":{"shape":[1],"rows":[[1]]}}"#,
        "id at `id`",
    );
}

/// Reads bytes as everything; what comes of it does not matter.
fn read_all(bytes: &[u8]) {
    CASES.iter().for_each(|(_, read)| drop(read(bytes)));
    OUTPUTS.iter().for_each(|(_, read)| drop(read(bytes)));
    let text = String::from_utf8_lossy(bytes);
    drop((case_from_json(&text), read_group(&text), read_manifest(&text)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }

    #[test]
    fn no_change_makes_a_reader_panic(
        which in 0..5usize,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let output = Tensor { dtype: Dtype::Float16, shape: vec![1, 2, 3], data: vec![1.0; 6] };
        let mut bytes = match which {
            0 | 1 => CASES[which].0(&small(Dtype::Float16)).unwrap(),
            _ => OUTPUTS[which - 2].0(&output).unwrap(),
        };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_all(&bytes);
    }
}
