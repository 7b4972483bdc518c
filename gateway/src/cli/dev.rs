//! The folder of `pitlane serve --dev`: everything that is missing is made, what is
//! there is used as it is, so that a second start goes on.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePrivateKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use serde_json::json;
use zeroize::Zeroizing;

use super::run::Failure;
use crate::config::{Config, OldSegments};
use crate::secrets;

/// The folder as it is after its preparation.
pub(super) struct DevFolder {
    /// What the gateway is started with.
    pub(super) config: Config,
    signing_key: PathBuf,
    key_id: String,
    agent: (String, Zeroizing<String>),
    admin_token: Zeroizing<String>,
}

impl DevFolder {
    /// Makes what is missing, and reads all.
    pub(super) fn prepare(folder: &Path) -> Result<Self, Failure> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(in_file(folder))?;
        let folder = fs::canonicalize(folder).map_err(in_file(folder))?;
        let signing_key = folder.join("authorizer.pem");
        let authorizer = key(&signing_key)?;
        let client = key(&folder.join("client.pem"))?;
        let agent_token = token(&folder.join("agent.token"))?;
        let admin_token = token(&folder.join("admin.token"))?;
        let path = folder.join("config.toml");
        // Last, so that it names nothing that a crash has kept from being made.
        if !path.exists() {
            let text = first_config(&authorizer, &client, &agent_token, &admin_token);
            secrets::create(&path, &text).map_err(in_file(&path))?;
        }
        let mut config = Config::load(&path).map_err(Failure::input)?;
        // A path that is not relative stays as it is.
        let journal = &mut config.journal;
        let files = journal
            .history
            .iter_mut()
            .chain(&mut config.authorizer.key_file);
        for file in files.chain([&mut journal.dir]) {
            *file = folder.join(&*file);
        }
        if let OldSegments::Archive(archive) = &mut journal.old_segments {
            *archive = folder.join(&*archive);
        }
        let changed = |what: &str, file: &str| {
            Failure::input(format!(
                "{}: no {what} in it is that of {file}; put it back, or remove config.toml to \
                 have it made again",
                path.display()
            ))
        };
        let public = authorizer.verifying_key().to_bytes();
        let own = config.keys.iter().find(|entry| entry.public_key == public);
        let key_id = own.map(|entry| entry.key_id.clone());
        let hash = secrets::token_hash(&agent_token);
        let own = config.agents.iter().find(|one| one.token_sha256 == hash);
        let agent = own.map(|entry| entry.id.clone());
        let hash = secrets::token_hash(&admin_token);
        if !config.admins.iter().any(|one| one.token_sha256 == hash) {
            return Err(changed("[[admin]]", "admin.token"));
        }
        if !config.http.enabled {
            return Err(Failure::input(format!(
                "{}: [http] enabled is false; --dev needs it",
                path.display()
            )));
        }
        Ok(Self {
            key_id: key_id.ok_or_else(|| changed("[[key]]", "authorizer.pem"))?,
            agent: (
                agent.ok_or_else(|| changed("[[agent]]", "agent.token"))?,
                agent_token,
            ),
            config,
            signing_key,
            admin_token,
        })
    }

    /// The line that says how to reach a gateway that is ready.
    pub(super) fn ready(&self, gateway: SocketAddr, http: SocketAddr) -> String {
        let (agent_id, agent_token) = &self.agent;
        let accounts = self.config.account_ids();
        let accounts: Vec<String> = accounts.map(|account| account.to_string()).collect();
        let instruments = self.config.instruments.iter();
        let instruments: Vec<&str> = instruments.map(|one| one.symbol.as_str()).collect();
        let line = json!({
            "ready": true,
            "gateway": gateway.to_string(),
            "http": http.to_string(),
            "agent_id": agent_id,
            "agent_token": agent_token.as_str(),
            "admin_token": self.admin_token.as_str(),
            "key_id": self.key_id,
            "signing_key": self.signing_key,
            "accounts": accounts,
            "instruments": instruments,
            "venues": [self.config.venue.name],
        });
        format!("{line}\n")
    }
}

fn in_file(path: &Path) -> impl Fn(io::Error) -> Failure + use<> {
    let path = path.display().to_string();
    move |error| {
        Failure::input(format!(
            "{path}: {error}; name a folder that can be written"
        ))
    }
}

/// The key of a file; a new one where there is none.
fn key(path: &Path) -> Result<SigningKey, Failure> {
    if !path.exists() {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).map_err(Failure::run)?;
        let pem = SigningKey::from_bytes(&seed).to_pkcs8_pem(LineEnding::LF);
        secrets::create(path, &pem.map_err(Failure::run)?).map_err(in_file(path))?;
    }
    secrets::signing_key(path).map_err(Failure::input)
}

/// The token of a file; a new one where there is none.
fn token(path: &Path) -> Result<Zeroizing<String>, Failure> {
    if !path.exists() {
        let token = secrets::new_token().map_err(Failure::run)?;
        let line = Zeroizing::new(format!("{}\n", *token));
        secrets::create(path, &line).map_err(in_file(path))?;
    }
    let text = secrets::read(path).map_err(in_file(path))?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

fn first_config(
    authorizer: &SigningKey,
    client: &SigningKey,
    agent_token: &str,
    admin_token: &str,
) -> String {
    let public = |key: &SigningKey| HEXLOWER.encode(key.verifying_key().as_bytes());
    let hash = |token: &str| HEXLOWER.encode(&secrets::token_hash(token));
    let (authorizer, client) = (public(authorizer), public(client));
    let (agent, admin) = (hash(agent_token), hash(admin_token));
    format!(
        r#"# Made by `pitlane serve --dev`; change it as you like, it is not written again.
# Relative paths are meant from this file's folder.

[gateway]
listen = "127.0.0.1:0"

[journal]
mode = "sync"
dir = "journal"
segment_mib = 8
history = "history.sqlite"

[http]
enabled = true
listen = "127.0.0.1:0"

[authorizer]
key_file = "authorizer.pem"
key_id = "dev-authorizer"

[venue]
kind = "sim"
name = "sim"

[[asset]]
id = 1
name = "USD"

[[asset]]
id = 2
name = "ACME"

[[asset]]
id = 3
name = "GOLD"

[[instrument]]
id = 1
symbol = "ACME-USD"
base = "ACME"
settlement = "USD"
tick = "0.01"
lot = "1"
reference = "100.00"

[[instrument]]
id = 2
symbol = "GOLD-USD"
base = "GOLD"
settlement = "USD"
tick = "0.01"
lot = "0.001"
reference = "2650.00"

[[account]]
id = 1
count = 2
balances = {{ USD = "1000000", ACME = "10000", GOLD = "1000" }}

# For the binary gateway: its private key is client.pem.
[[credential]]
id = 1
public_key = "{client}"
accounts = "all"

# Its token is in agent.token.
[[agent]]
id = "dev-agent"
token_sha256 = "{agent}"
accounts = "all"

# Its token is in admin.token.
[[admin]]
id = "dev-admin"
token_sha256 = "{admin}"

# Its private key is authorizer.pem.
[[key]]
key_id = "dev-authorizer"
public_key = "{authorizer}"
"#
    )
}
