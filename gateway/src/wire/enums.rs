//! The session messages' enumerations, with the schema's numbers and names.

macro_rules! wire_enum {
    ($($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $number:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[repr(u8)]
            #[non_exhaustive]
            pub enum $name {
                $($(#[$value_doc])* $value = $number,)*
            }

            impl $name {
                /// Every value, by number.
                pub const ALL: &'static [Self] = &[$(Self::$value,)*];

                /// The value of a number; `None` for one that this version does
                /// not know.
                #[must_use]
                pub const fn from_number(number: u8) -> Option<Self> {
                    match number {
                        $($number => Some(Self::$value),)*
                        _ => None,
                    }
                }

                /// The stable number.
                #[must_use]
                pub const fn number(self) -> u8 {
                    self as u8
                }

                /// The stable name.
                #[must_use]
                pub const fn name(self) -> &'static str {
                    match self {
                        $(Self::$value => stringify!($value),)*
                    }
                }
            }

            impl core::fmt::Display for $name {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    f.pad(self.name())
                }
            }
        )*
    };
}

/// The side of a report whose order's side is not known.
pub const SIDE_NULL: u8 = 255;

wire_enum! {
    /// Whether the sender of `Sequence` has heard of the receiver lately.
    KeepAliveLapsed {
        /// It has.
        NotLapsed = 0,
        /// It has not: the session ends unless something comes.
        Lapsed = 1,
    }

    /// Why a `Negotiate` was not taken.
    NegotiationRejectReason {
        /// The id, the key, the time or the signature is wrong; which one is
        /// not told.
        Refused = 1,
        /// The credential has a session already.
        SessionInUse = 2,
    }

    /// Why an `Establish` was not taken.
    EstablishmentRejectReason {
        /// Not the session that was negotiated.
        UnknownSession = 1,
        /// The keep-alive interval is out of the configured range.
        KeepAliveInterval = 2,
        /// The next sequence number is zero, or leaves no room.
        SequenceNumber = 3,
    }

    /// Why a session ended.
    TerminateReason {
        /// The client was done.
        Finished = 0,
        /// After `NegotiationReject`.
        NegotiationRefused = 1,
        /// After `EstablishmentReject`.
        EstablishmentRefused = 2,
        /// Not established in time.
        NegotiationTimeout = 3,
        /// A frame began and was not completed in time.
        FrameTimeout = 4,
        /// Nothing was heard for three intervals.
        KeepAliveTimeout = 5,
        /// Not a frame: wrong encoding type, or too short for its headers.
        BadFraming = 6,
        /// Longer than a frame may be.
        FrameTooLong = 7,
        /// Not this schema.
        UnknownSchema = 8,
        /// A block shorter than its fields, or bytes after it.
        MalformedMessage = 9,
        /// A message that has no place here.
        UnexpectedMessage = 10,
        /// No sequence number is left.
        SequenceExhausted = 11,
        /// The client did not read its reports in time.
        SlowReader = 12,
        /// The gateway stops.
        GatewayStopping = 13,
    }
}
