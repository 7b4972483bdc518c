//! What a message's block is to the codec: plain bytes with a template number
//! and a table of its fields.
//!
//! Blocks are little-endian integers in `repr(C)` structs whose gaps are
//! fields, so that reading one is a copy of its bytes.

use bytemuck::Pod;

#[cfg(not(target_endian = "little"))]
compile_error!("blocks are read and written as they lie in memory: little-endian hosts only");

/// A message's root block.
pub trait Block: Pod {
    /// The message's number in the schema.
    const TEMPLATE: u16;
    /// The message's name in the schema.
    const NAME: &'static str;
    /// The fields that it shares with other messages, at its beginning.
    const HEAD: &'static [Field];
    /// Its own fields, in order; offsets are from the block's beginning.
    const FIELDS: &'static [Field];
}

/// Where a field lies and what the schema calls its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// As in the struct; the schema has the same in camel case.
    pub name: &'static str,
    /// The type's name in the schema.
    pub schema_type: &'static str,
    /// The type in the struct.
    pub rust_type: &'static str,
    /// From the block's beginning, in bytes.
    pub offset: usize,
    /// In bytes.
    pub size: usize,
}

/// A message as a table row.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The message's number.
    pub id: u16,
    /// The message's name.
    pub name: &'static str,
    /// The length of its block, in bytes.
    pub block_length: usize,
    /// The fields that it shares with others.
    pub head: &'static [Field],
    /// Its own fields.
    pub fields: &'static [Field],
}

impl Template {
    const fn of<B: Block>() -> Self {
        Self {
            id: B::TEMPLATE,
            name: B::NAME,
            block_length: size_of::<B>(),
            head: B::HEAD,
            fields: B::FIELDS,
        }
    }
}

/// Every message, by number.
pub const TEMPLATES: &[Template] = &[
    Template::of::<super::Challenge>(),
    Template::of::<super::Negotiate>(),
    Template::of::<super::NegotiationResponse>(),
    Template::of::<super::NegotiationReject>(),
    Template::of::<super::Establish>(),
    Template::of::<super::EstablishmentAck>(),
    Template::of::<super::EstablishmentReject>(),
    Template::of::<super::Sequence>(),
    Template::of::<super::Terminate>(),
    Template::of::<super::NotApplied>(),
    Template::of::<super::NewOrder>(),
    Template::of::<super::Replace>(),
    Template::of::<super::Cancel>(),
    Template::of::<super::Accepted>(),
    Template::of::<super::Rejected>(),
    Template::of::<super::Executed>(),
    Template::of::<super::Canceled>(),
    Template::of::<super::Replaced>(),
    Template::of::<super::CancelRejected>(),
];

/// Defines blocks with their field tables; `name: type as SchemaType`.
macro_rules! blocks {
    ($($(#[$doc:meta])* $block:ident = $template:literal $(with $head:ident: $head_type:ident)? {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty as $schema:ident,)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
            #[repr(C)]
            pub struct $block {
                $(/// The fields that all reports have.
                pub $head: $head_type,)?
                $($(#[$field_doc])* pub $field: $ty,)*
            }

            impl $crate::wire::block::Block for $block {
                const TEMPLATE: u16 = $template;
                const NAME: &'static str = stringify!($block);
                const HEAD: &'static [$crate::wire::block::Field] =
                    $crate::wire::block::head!($($head_type)?);
                const FIELDS: &'static [$crate::wire::block::Field] = &[
                    $($crate::wire::block::field!($block, $field: $ty as $schema),)*
                ];
            }
        )*
    };
}

/// The table of the shared fields, or an empty one.
macro_rules! head {
    () => {
        &[]
    };
    ($head_type:ident) => {
        $head_type::FIELDS
    };
}

/// One row of a field table.
macro_rules! field {
    ($block:ident, $field:ident: $ty:ty as $schema:ident) => {
        $crate::wire::block::Field {
            name: stringify!($field),
            schema_type: stringify!($schema),
            rust_type: stringify!($ty),
            offset: core::mem::offset_of!($block, $field),
            size: size_of::<$ty>(),
        }
    };
}

pub(super) use {blocks, field, head};
