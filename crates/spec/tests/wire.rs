//! Messages of the wire are those of its documentation.

use qkvet_spec::Dtype;
use qkvet_spec::wire::*;

#[test]
fn dtypes_have_one_name_each() {
    for dtype in Dtype::ALL {
        let wire = WireDtype::from(dtype);
        assert_eq!((wire.name(), wire.dtype()), (dtype.name(), Some(dtype)));
        assert_eq!(serde_json::to_string(&wire).unwrap(), format!("\"{}\"", wire.name()));
    }
    for other in [WireDtype::Bool, WireDtype::Int64] {
        assert_eq!(other.dtype(), None);
        assert_eq!(serde_json::to_string(&other).unwrap(), format!("\"{}\"", other.name()));
    }
}

#[test]
fn messages_of_the_documentation_are_read() {
    let documentation = include_str!("../../../docs/wire.md");
    let mut kinds = [0; 3];
    for block in
        documentation.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next())
    {
        let joined = block.replace("\n  ", " ").replace("\n →", "\n→");
        for line in joined.lines() {
            let message = line.trim_start_matches(['→', '←', ' ']);
            let read: WireMessage =
                serde_json::from_str(message).unwrap_or_else(|e| panic!("{e}\n{message}"));
            kinds[match read {
                WireMessage::Request(_) => 0,
                WireMessage::RunAnswer(_) => 1,
                WireMessage::HelloAnswer(_) => 2,
            }] += 1;
        }
    }
    assert_eq!(kinds, [4, 4, 2]);
}

/// A program may have sent what is no base64.
#[test]
fn elements_come_back_as_they_were_sent() {
    for data in ["", "AAD/+w==", "a\"b", r"a\nb", "\n", "\",\"file\":\"x", "é\u{1}"] {
        let (dtype, shape) = (WireDtype::Float32, vec![1]);
        let data = Some(data.to_owned());
        let sent = WireTensor { dtype, shape, data, file: None, offset: None };
        let text = serde_json::to_string(&sent).expect("JSON");
        assert_eq!(serde_json::from_str::<WireTensor>(&text).expect("a tensor"), sent, "{text}");
    }
}

#[test]
fn what_is_not_of_the_protocol_is_refused() {
    for wrong in [
        r#"{"op":"walk"}"#,
        r#"{"seq":-1,"status":"ok","tensors":{}}"#,
        r#"{"seq":1,"status":"fine"}"#,
        r#"{"seq":1,"status":"ok","tensors":{"output":{"dtype":"int16","shape":[1]}}}"#,
        r#"{"seq":1,"status":"ok","tensors":{"output":{"dtype":"float32","shape":[-1]}}}"#,
    ] {
        assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        assert!(serde_json::from_str::<RunAnswer>(wrong).is_err(), "{wrong}");
    }
}
