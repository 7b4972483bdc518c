//! What a client signs at logon (rule G7).

use crate::wire::Negotiate;

/// Keeps these signatures from meaning anything anywhere else.
const CONTEXT: [u8; 24] = *b"pitlane negotiate v1\0\0\0\0";

/// Length of what is signed, in bytes.
pub const SIGNED_LENGTH: usize = CONTEXT.len() + 8 + 8 + 8 + 32 + 8;

/// The bytes that a `Negotiate` signs: context, gateway id, credential id,
/// session id, nonce, time; integers little-endian.
///
/// The gateway id and the nonce are those of its `Challenge`; the signature
/// field of `negotiate` is not read.
#[must_use]
pub fn signed_bytes(
    gateway_id: u64,
    nonce: &[u8; 32],
    negotiate: &Negotiate,
) -> [u8; SIGNED_LENGTH] {
    let mut bytes = [0; SIGNED_LENGTH];
    let parts: [&[u8]; 6] = [
        &CONTEXT,
        &gateway_id.to_le_bytes(),
        &negotiate.credential_id.to_le_bytes(),
        &negotiate.session_id.to_le_bytes(),
        nonce,
        &negotiate.time.to_le_bytes(),
    ];
    let mut start = 0;
    for part in parts {
        bytes[start..start + part.len()].copy_from_slice(part);
        start += part.len();
    }
    debug_assert_eq!(start, SIGNED_LENGTH);
    bytes
}
