//! The memory of one call: every buffer between two guards, which are looked at afterwards.
//!
//! A guard is filled with NaN, so that what is read beyond a buffer shows in the result, and what
//! is written there shows in the guard. Results are filled likewise, so that what is not written is
//! no number.

use std::fmt;

/// Bytes of a guard: a step by a row beyond the end lands in it for rows up to so long.
const GUARD: usize = 16 << 10;

/// Bytes outside of all guards, which nobody looks at.
const MARGIN: usize = 256 << 10;

/// Little-endian 0xFFFD and 0xFFF9: as two bytes, four or eight a quiet NaN in every format of so
/// many. No processor makes these by itself, and what was read in a guard is told from what was
/// never written.
const OF_GUARDS: [u8; 2] = [0xfd, 0xff];
const OF_RESULTS: [u8; 2] = [0xf9, 0xff];

/// A guard that nobody wrote to. It is copied and compared as a whole: a call has two for each
/// buffer, and they are longer than most tensors.
static UNTOUCHED: [u8; GUARD] = {
    let mut guard = [0; GUARD];
    let mut at = 0;
    while at < GUARD {
        guard[at] = OF_GUARDS[at % 2];
        at += 1;
    }
    guard
};

/// What malloc promises, and no more.
const ALIGNMENT: usize = 16;

/// A buffer of a call.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// As the function calls it.
    pub(super) name: String,
    pub(super) contents: Contents,
}

/// What is in a buffer before the call.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    /// These bytes, which have to be the same afterwards.
    Input(Vec<u8>),
    /// NaN in so many bytes.
    Result(usize),
}

impl Buffer {
    fn len(&self) -> usize {
        match &self.contents {
            Contents::Input(bytes) => bytes.len(),
            Contents::Result(n_bytes) => *n_bytes,
        }
    }
}

/// Memory for the buffers of a call, used again for later ones: the same place then holds other
/// numbers.
#[derive(Debug, Default)]
pub(super) struct Arena {
    memory: Vec<u8>,
    /// Where each buffer begins.
    starts: Vec<usize>,
}

/// A guard that was written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Overrun {
    name: String,
    is_behind: bool,
    /// The nearest and the farthest byte, counted from 1 at the edge of the buffer.
    nearest: usize,
    farthest: usize,
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, is_behind, nearest, farthest } = self;
        let edge = if *is_behind { "behind the end" } else { "before the beginning" };
        match nearest == farthest {
            true => write!(f, "wrote beyond the buffer `{name}`: byte {nearest} {edge}"),
            false => {
                write!(f, "wrote beyond the buffer `{name}`: bytes {nearest} to {farthest} {edge}")
            }
        }
    }
}

impl Arena {
    /// Lays the buffers out and fills them; gives the address of each. `turn` moves them by
    /// multiples of the alignment.
    pub(super) fn lay(&mut self, buffers: &[Buffer], turn: usize) -> Vec<*mut u8> {
        let room: usize =
            buffers.iter().map(|buffer| buffer.len() + 2 * GUARD + 8 * ALIGNMENT).sum();
        let needed = room + 2 * MARGIN;
        if self.memory.len() < needed {
            self.memory = vec![0; needed];
        }
        let base = self.memory.as_ptr() as usize;
        let mut at = MARGIN;
        self.starts.clear();
        for (idx, buffer) in buffers.iter().enumerate() {
            // Up to the next multiple of 64 bytes, and on by 0 to 3 times 16.
            let aligned = (base + at + GUARD).next_multiple_of(4 * ALIGNMENT) - base;
            let start = aligned + (turn + idx) % 4 * ALIGNMENT;
            let end = start + buffer.len();
            self.memory[start - GUARD..start].copy_from_slice(&UNTOUCHED);
            match &buffer.contents {
                Contents::Input(bytes) => self.memory[start..end].copy_from_slice(bytes),
                Contents::Result(_) => fill(&mut self.memory[start..end]),
            }
            self.memory[end..end + GUARD].copy_from_slice(&UNTOUCHED);
            self.starts.push(start);
            at = end + GUARD;
        }
        let memory = self.memory.as_mut_ptr();
        self.starts.iter().map(|start| memory.wrapping_add(*start)).collect()
    }

    /// The first guard that was written to.
    pub(super) fn overrun(&self, buffers: &[Buffer]) -> Option<Overrun> {
        buffers.iter().zip(&self.starts).find_map(|(buffer, start)| {
            let end = start + buffer.len();
            let found = |guard: &[u8], is_behind: bool| {
                let (first, last) = touched(guard)?;
                let (nearest, farthest) =
                    if is_behind { (first + 1, last + 1) } else { (GUARD - last, GUARD - first) };
                Some(Overrun { name: buffer.name.clone(), is_behind, nearest, farthest })
            };
            let behind = found(&self.memory[end..end + GUARD], true);
            behind.or_else(|| found(&self.memory[start - GUARD..*start], false))
        })
    }

    /// The first result of which nothing was written.
    pub(super) fn unwritten<'a>(&self, buffers: &'a [Buffer]) -> Option<&'a str> {
        let is_filled =
            |bytes: &[u8]| bytes.iter().enumerate().all(|(at, byte)| *byte == OF_RESULTS[at % 2]);
        let is_unwritten = |(idx, buffer): &(usize, &Buffer)| {
            matches!(buffer.contents, Contents::Result(1..)) && is_filled(self.bytes(buffers, *idx))
        };
        buffers.iter().enumerate().find(is_unwritten).map(|(_, buffer)| buffer.name.as_str())
    }

    /// Whether every input has the bytes that it had.
    pub(super) fn inputs_unchanged(&self, buffers: &[Buffer]) -> bool {
        buffers.iter().zip(&self.starts).all(|(buffer, start)| match &buffer.contents {
            Contents::Input(bytes) => self.memory[*start..start + bytes.len()] == **bytes,
            Contents::Result(_) => true,
        })
    }

    /// What lies in a buffer now.
    pub(super) fn bytes(&self, buffers: &[Buffer], idx: usize) -> &[u8] {
        &self.memory[self.starts[idx]..self.starts[idx] + buffers[idx].len()]
    }
}

fn fill(bytes: &mut [u8]) {
    bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = OF_RESULTS[at % 2]);
}

/// The first and the last byte that are not as they were filled.
fn touched(guard: &[u8]) -> Option<(usize, usize)> {
    if guard == UNTOUCHED {
        return None;
    }
    let is_other = |at: &usize| guard[*at] != UNTOUCHED[*at];
    Some(((0..guard.len()).find(is_other)?, (0..guard.len()).rfind(is_other)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers() -> Vec<Buffer> {
        let buffer = |name: &str, contents| Buffer { name: name.to_owned(), contents };
        vec![
            buffer("q", Contents::Input(vec![1, 2, 3, 4])),
            buffer("empty", Contents::Input(Vec::new())),
            buffer("out", Contents::Result(8)),
        ]
    }

    #[test]
    fn what_is_written_beyond_a_buffer_is_named() {
        let check = |idx: usize, offset: isize, expected: Option<&str>| {
            let (buffers, mut arena) = (buffers(), Arena::default());
            arena.lay(&buffers, 1);
            assert_eq!(arena.overrun(&buffers), None);
            let at = arena.starts[idx].wrapping_add_signed(offset);
            arena.memory[at] ^= 1;
            assert_eq!(
                arena.overrun(&buffers).map(|overrun| overrun.to_string()).as_deref(),
                expected
            );
            assert_eq!(arena.inputs_unchanged(&buffers), idx != 0 || !(0..4).contains(&offset));
        };
        check(2, 0, None);
        check(2, 7, None);
        check(2, 8, Some("wrote beyond the buffer `out`: byte 1 behind the end"));
        check(2, -3, Some("wrote beyond the buffer `out`: byte 3 before the beginning"));
        check(0, 0, None);
        check(0, 4, Some("wrote beyond the buffer `q`: byte 1 behind the end"));
        check(1, 0, Some("wrote beyond the buffer `empty`: byte 1 behind the end"));
        let (buffers, mut arena) = (buffers(), Arena::default());
        arena.lay(&buffers, 0);
        let end = arena.starts[2] + 8;
        arena.memory[end + 3..end + 9].fill(0);
        let told = arena.overrun(&buffers).map(|overrun| overrun.to_string());
        assert_eq!(
            told.as_deref(),
            Some("wrote beyond the buffer `out`: bytes 4 to 9 behind the end")
        );
    }

    #[test]
    fn results_are_no_numbers_and_addresses_move() {
        let (buffers, mut arena) = (buffers(), Arena::default());
        let mut seen = std::collections::BTreeSet::new();
        for turn in 0..4 {
            let places = arena.lay(&buffers, turn);
            assert!(places.iter().all(|place| (*place as usize).is_multiple_of(ALIGNMENT)));
            seen.insert(places[0] as usize % (4 * ALIGNMENT));
            let bytes = arena.bytes(&buffers, 2);
            assert_eq!(arena.unwritten(&buffers), Some("out"));
            assert!(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).is_nan());
            assert!(f64::from_le_bytes(bytes.try_into().unwrap()).is_nan());
            for dtype in [qkvet_spec::Dtype::Float16, qkvet_spec::Dtype::Bfloat16] {
                assert!(qkvet_engine::format::decode(bytes, dtype).iter().all(|x| x.is_nan()));
            }
        }
        assert_eq!(seen.len(), 4);
        let last = arena.starts[2] + 7;
        arena.memory[last] = 0;
        assert_eq!(arena.unwritten(&buffers), None);
    }
}
