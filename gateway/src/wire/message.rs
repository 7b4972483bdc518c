//! Messages by direction: what a frame can be for who reads it.

use super::block::Block;
use super::{
    Accepted, Cancel, CancelRejected, Canceled, Challenge, Establish, EstablishmentAck,
    EstablishmentReject, Executed, Frame, FrameError, Negotiate, NegotiationReject,
    NegotiationResponse, NewOrder, NotApplied, Rejected, Replace, Replaced, Sequence, TEMPLATES,
    Terminate,
};

macro_rules! direction {
    ($(#[$doc:meta])* $name:ident { $($(#[$message_doc:meta])* $message:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(clippy::large_enum_variant)] // Lives on the stack, for the length of one match.
        pub enum $name {
            $($(#[$message_doc])* $message($message),)*
            /// A template that this version does not know: skipped (rule G6).
            Unknown {
                /// Its number.
                template: u16,
            },
        }

        impl $name {
            /// The message in a frame.
            ///
            /// # Errors
            /// A block that is too short, or a message of the other direction.
            #[inline]
            pub fn decode(frame: &Frame<'_>) -> Result<Self, FrameError> {
                match frame.template {
                    $($message::TEMPLATE => frame.read().map(Self::$message),)*
                    template => Self::not_ours(template),
                }
            }

            /// The message's number in the schema.
            #[must_use]
            pub const fn template(&self) -> u16 {
                match self {
                    $(Self::$message(_) => $message::TEMPLATE,)*
                    Self::Unknown { template } => *template,
                }
            }

            #[cold]
            fn not_ours(template: u16) -> Result<Self, FrameError> {
                if TEMPLATES.iter().any(|known| known.id == template) {
                    Err(FrameError::Direction { template })
                } else {
                    Ok(Self::Unknown { template })
                }
            }
        }
    };
}

direction! {
    /// What a client may send.
    FromClient {
        /// Who it is.
        Negotiate,
        /// Begin.
        Establish,
        /// Still here.
        Sequence,
        /// Done.
        Terminate,
        /// Admit an order.
        NewOrder,
        /// Change an order.
        Replace,
        /// Cancel an order.
        Cancel,
    }
}

direction! {
    /// What the gateway may send.
    FromGateway {
        /// What to sign.
        Challenge,
        /// The credential is taken.
        NegotiationResponse,
        /// It is not.
        NegotiationReject,
        /// Begun.
        EstablishmentAck,
        /// Not begun.
        EstablishmentReject,
        /// Still here.
        Sequence,
        /// The last message.
        Terminate,
        /// Numbers that never came.
        NotApplied,
        /// Risk took the order.
        Accepted,
        /// The order was refused.
        Rejected,
        /// The order traded.
        Executed,
        /// The order is over.
        Canceled,
        /// The order was changed.
        Replaced,
        /// A cancel or replace was refused.
        CancelRejected,
    }
}
