//! Frames: where one message ends and the next begins.
//!
//! ```text
//!  0        2        4           6         8         10       12
//!  | length | 0xEB50 | block len | template | schema | version | block …
//!    with      SBE     └────────── SBE message header ────────┘
//!    itself
//! ```
//!
//! Everything that the headers can tell is judged as soon as they are there,
//! before the rest of the frame is waited for (rule G6). Nothing is copied.

use pitlane::limits;

use super::block::Block;

/// Length of the framing header: frame length and encoding type.
pub const FRAMING_LENGTH: usize = 4;
/// Length of the SBE message header.
pub const HEADER_LENGTH: usize = 8;
/// Where the block begins.
pub const BLOCK_START: usize = FRAMING_LENGTH + HEADER_LENGTH;
/// The encoding type of SBE 1.0, little-endian.
pub const ENCODING_SBE: u16 = 0xEB50;
/// The schema's id.
pub const SCHEMA_ID: u16 = 20_556;
/// The schema's version.
pub const SCHEMA_VERSION: u16 = 1;
/// The longest frame, its framing header included.
pub const FRAME_MAX: usize = limits::FRAME_MAX;

/// One whole frame in a read buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Which message.
    pub template: u16,
    /// The version of the schema that it was written with.
    pub version: u16,
    /// The root block, as long as its sender made it.
    pub block: &'a [u8],
    /// The length of the whole frame, in bytes.
    pub length: usize,
}

/// What a read buffer begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A whole frame.
    Frame(Frame<'a>),
    /// The beginning of one, or nothing: read on.
    Partial,
}

/// Why bytes are not a frame; the stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The encoding type is another.
    #[error("encoding type {found:#06x} at byte 2 of a frame; {ENCODING_SBE:#06x} is expected")]
    Encoding {
        /// What was there.
        found: u16,
    },
    /// The length does not even cover the headers.
    #[error("frame length {length}; the headers alone take {BLOCK_START}")]
    TooShort {
        /// What was there.
        length: usize,
    },
    /// The length is above the limit.
    #[error("frame length {length}; at most {FRAME_MAX} is read")]
    TooLong {
        /// What was there.
        length: usize,
    },
    /// Another schema.
    #[error("schema {found}; this is schema {SCHEMA_ID}")]
    Schema {
        /// What was there.
        found: u16,
    },
    /// The block ends after its frame.
    #[error("template {template}: a block of {block} bytes in a frame with room for {room}")]
    BlockBeyondFrame {
        /// Which message.
        template: u16,
        /// The block length in the header.
        block: usize,
        /// What the frame has.
        room: usize,
    },
    /// Bytes after the block, in a message of a version that has none.
    #[error("template {template}: {count} bytes after the block")]
    Trailing {
        /// Which message.
        template: u16,
        /// How many.
        count: usize,
    },
    /// The block lacks fields that every version has.
    #[error("template {template}: a block of {block} bytes; {required} are required")]
    BlockTooShort {
        /// Which message.
        template: u16,
        /// The block length in the header.
        block: usize,
        /// What the message needs.
        required: usize,
    },
    /// A message that goes the other way.
    #[error("template {template} is not sent in this direction")]
    Direction {
        /// Which message.
        template: u16,
    },
}

/// Looks at the beginning of a read buffer.
///
/// # Errors
/// The bytes cannot be a frame of this protocol.
#[inline]
pub fn next_frame(bytes: &[u8]) -> Result<Next<'_>, FrameError> {
    let Some(framing) = bytes.first_chunk::<FRAMING_LENGTH>() else {
        return Ok(Next::Partial);
    };
    let length = usize::from(u16::from_le_bytes([framing[0], framing[1]]));
    let encoding = u16::from_le_bytes([framing[2], framing[3]]);
    if encoding != ENCODING_SBE {
        return Err(FrameError::Encoding { found: encoding });
    }
    if length < BLOCK_START {
        return Err(FrameError::TooShort { length });
    }
    if length > FRAME_MAX {
        return Err(FrameError::TooLong { length });
    }
    let Some(header) = bytes.first_chunk::<BLOCK_START>() else {
        return Ok(Next::Partial);
    };
    let block = usize::from(u16::from_le_bytes([header[4], header[5]]));
    let template = u16::from_le_bytes([header[6], header[7]]);
    let schema = u16::from_le_bytes([header[8], header[9]]);
    let version = u16::from_le_bytes([header[10], header[11]]);
    if schema != SCHEMA_ID {
        return Err(FrameError::Schema { found: schema });
    }
    let room = length - BLOCK_START;
    if block > room {
        return Err(FrameError::BlockBeyondFrame {
            template,
            block,
            room,
        });
    }
    // Later versions may append groups or data, which this one skips.
    if block < room && version <= SCHEMA_VERSION {
        return Err(FrameError::Trailing {
            template,
            count: room - block,
        });
    }
    let Some(frame) = bytes.get(..length) else {
        return Ok(Next::Partial);
    };
    Ok(Next::Frame(Frame {
        template,
        version,
        block: &frame[BLOCK_START..BLOCK_START + block],
        length,
    }))
}

impl Frame<'_> {
    /// The block as this version knows it: what a newer one appended is skipped.
    ///
    /// # Errors
    /// [`FrameError::BlockTooShort`].
    #[inline]
    pub fn read<B: Block>(&self) -> Result<B, FrameError> {
        match self.block.get(..size_of::<B>()) {
            Some(bytes) => Ok(bytemuck::pod_read_unaligned(bytes)),
            None => Err(FrameError::BlockTooShort {
                template: self.template,
                block: self.block.len(),
                required: size_of::<B>(),
            }),
        }
    }
}

/// Appends a frame.
#[inline]
pub fn write_frame<B: Block>(out: &mut Vec<u8>, block: &B) {
    out.extend_from_slice(const { &headers::<B>() });
    out.extend_from_slice(bytemuck::bytes_of(block));
}

/// Both headers of a message.
const fn headers<B: Block>() -> [u8; BLOCK_START] {
    assert!(BLOCK_START + size_of::<B>() <= FRAME_MAX);
    let length = low_u16(BLOCK_START + size_of::<B>()).to_le_bytes();
    let encoding = ENCODING_SBE.to_le_bytes();
    let block = low_u16(size_of::<B>()).to_le_bytes();
    let template = B::TEMPLATE.to_le_bytes();
    let schema = SCHEMA_ID.to_le_bytes();
    let version = SCHEMA_VERSION.to_le_bytes();
    [
        length[0],
        length[1],
        encoding[0],
        encoding[1],
        block[0],
        block[1],
        template[0],
        template[1],
        schema[0],
        schema[1],
        version[0],
        version[1],
    ]
}

/// A length that is known to fit: frames are 1 KiB at most.
#[allow(clippy::cast_possible_truncation)]
const fn low_u16(length: usize) -> u16 {
    assert!(length <= FRAME_MAX);
    length as u16
}

const _: () = assert!(FRAME_MAX <= 0xFFFF, "the length field has two bytes");
