//! Files with secrets: for their owner alone, and never over one that is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use data_encoding::HEXLOWER;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::DecodePrivateKey;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The longest secret that is read: a key in PEM has some 120 bytes.
const BYTES_MAX: u64 = 4_096;

/// Makes the file, readable by its owner alone, whole or not at all.
///
/// # Errors
/// It is there already, or what the system says.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    // A crash in the middle must not leave half a secret under the name.
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // A link refuses what a rename would replace.
    let linked = fs::hard_link(&unfinished, path);
    fs::remove_file(&unfinished)?;
    linked?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// The whole text.
///
/// # Errors
/// What the system says, or more bytes than a secret has.
pub(crate) fn read(path: &Path) -> io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    File::open(path)?
        .take(BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(io::Error::other("more bytes than any secret here has"));
    }
    Ok(text)
}

/// A new bearer token: 32 random bytes in hex.
///
/// # Errors
/// The system gave no random bytes.
pub(crate) fn new_token() -> Result<Zeroizing<String>, getrandom::Error> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(bytes.as_mut_slice())?;
    Ok(Zeroizing::new(HEXLOWER.encode(bytes.as_slice())))
}

/// What the configuration keeps of a token.
pub(crate) fn token_hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The Ed25519 private key of a file.
///
/// # Errors
/// Which file, why it has none, and the mend.
pub(crate) fn signing_key(path: &Path) -> Result<SigningKey, String> {
    let name = path.display();
    let pem = read(path).map_err(|error| format!("{name}: {error}; name a private key"))?;
    SigningKey::from_pkcs8_pem(&pem).map_err(|error| {
        format!(
            "{name}: not an Ed25519 private key in PKCS#8 PEM ({error}); \
             make one with: pitlane keygen --out FILE"
        )
    })
}
