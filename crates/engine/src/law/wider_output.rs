//! A target whose output may come back in a wider format.

use qkvet_spec::{Call, Dtype, Response, Target};

/// The target, its output called one of the narrow format, with the numbers that came back: what
/// judges them asks for no number of a format.
pub(super) struct WiderOutput<'a> {
    pub(super) target: &'a mut dyn Target,
    pub(super) narrow: Dtype,
}

impl WiderOutput<'_> {
    fn called(&self, response: Response) -> Response {
        match response {
            Response::Output(mut output)
                if output.output.dtype.precision() > self.narrow.precision() =>
            {
                output.output.dtype = self.narrow;
                Response::Output(output)
            }
            other => other,
        }
    }
}

impl Target for WiderOutput<'_> {
    fn call(&mut self, call: &Call) -> Response {
        let response = self.target.call(call);
        self.called(response)
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        let response = self.target.call_meanwhile(call, work);
        self.called(response)
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        let response = self.target.call_contiguous(call);
        self.called(response)
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        let response = self.target.call_transposed(call)?;
        Some(self.called(response))
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.target.puts_views(call)
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(self.target)
    }
}
