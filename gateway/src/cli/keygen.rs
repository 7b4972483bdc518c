//! `pitlane keygen`: an Ed25519 key pair for a credential.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePrivateKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;

use super::args::KeygenArgs;
use super::run::{Failure, print};

pub(super) fn run(args: &KeygenArgs) -> Result<(), Failure> {
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut_slice()).map_err(|error| {
        Failure::run(format!(
            "the operating system gave no random bytes: {error}"
        ))
    })?;
    let key = SigningKey::from_bytes(&seed);
    let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(Failure::run)?;
    let path = args.out.display();
    // Never over a key that is there: what it opens would be lost.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&args.out)
        .map_err(|error| {
            Failure::input(format!("{path}: {error}; name a file that is not there"))
        })?;
    file.write_all(pem.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| Failure::run(format!("{path}: {error}")))?;
    let public: String = key
        .verifying_key()
        .as_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    print(&format!("public_key = \"{public}\"\n"));
    eprintln!("the private key is in {path}; put the line above into the [[credential]]");
    Ok(())
}
