//! `pitlane token`: a bearer token for an agent or an admin.

use data_encoding::HEXLOWER;

use super::args::TokenArgs;
use super::run::{Failure, print};
use crate::secrets;

pub(super) fn run(args: &TokenArgs) -> Result<(), Failure> {
    let token = secrets::new_token().map_err(|error| {
        Failure::run(format!(
            "the operating system gave no random bytes: {error}"
        ))
    })?;
    let path = args.out.display();
    let text = zeroize::Zeroizing::new(format!("{}\n", *token));
    secrets::create(&args.out, &text)
        .map_err(|error| Failure::input(format!("{path}: {error}; name a new file")))?;
    let hash = HEXLOWER.encode(&secrets::token_hash(&token));
    print(&format!("token_sha256 = \"{hash}\"\n"));
    eprintln!("the token is in {path}; put the line above into the [[agent]] or [[admin]]");
    Ok(())
}
