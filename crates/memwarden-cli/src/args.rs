//! The command line: every verb, flag and default, and nothing that runs.

use clap::{Args, Parser, Subcommand, ValueEnum};
use memwarden::{Kind, Namespace, RecordId, Role, TraceType};
use std::path::PathBuf;

/// Keeps an LLM agent's long-term memory honest.
///
/// Exit codes: 0 clean, 1 findings, 2 wrong use or bad input, 3 a failure of the program or its machine.
#[derive(Debug, Parser)]
#[command(name = "memwarden", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Where the store is and who acts.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Directory of the store [default: the user's data directory, memwarden/default]
    #[arg(long, global = true, env = "MEMWARDEN_STORE", value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Directory of signing key and credentials [default: the user's configuration directory]
    #[arg(long, global = true, env = "MEMWARDEN_KEYS", value_name = "DIR")]
    pub keys: Option<PathBuf>,
    /// Directory of the witness [default: the user's state directory]
    #[arg(long, global = true, env = "MEMWARDEN_WITNESS", value_name = "DIR")]
    pub witness: Option<PathBuf>,
    /// Credential to act with: a file, or the name of a role in the key directory [default: agent]
    #[arg(long, global = true, env = "MEMWARDEN_CREDENTIAL", value_name = "FILE|ROLE")]
    pub credential: Option<PathBuf>,
    /// Namespace: 1 to 128 characters of A-Z a-z 0-9 . _ : -
    #[arg(short, long, global = true, default_value_t, value_name = "NAME")]
    pub namespace: Namespace,
    /// Print JSON for programs instead of tables for people
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a store, its signing key, and credentials for owner, agent and step
    Init {
        /// Preset or TOML file
        #[arg(long, default_value = "annotate", value_name = "PRESET|FILE")]
        policy: String,
    },
    /// Remember one entry
    Remember(Remember),
    /// Recall what fits a query
    Recall {
        /// The words to look for
        query: String,
        /// How many records at most, 1 to 100
        #[arg(short, default_value_t = 10)]
        k: usize,
        /// Only this kind
        #[arg(long)]
        kind: Option<Kind>,
        /// How to look
        #[arg(long, value_enum, default_value_t)]
        retrieval: RetrievalArg,
        /// Print the block for a model's context instead of a table
        #[arg(long)]
        block: bool,
    },
    /// Import memory files of other tools (MCP memory.jsonl, JSONL, mem0 JSON, Letta .af)
    Import {
        /// Files
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Review what was kept out
    #[command(subcommand)]
    Quarantine(Quarantine),
    /// Withdraw a record; a weaker principal leaves a proposal
    Retire {
        record: RecordId,
        /// A sentence for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Everything that the log says about a record
    History { record: RecordId },
    /// Verify, prove and publish the log
    #[command(subcommand)]
    Ledger(Ledger),
    /// Write a consistent copy of the store to a new file (owner)
    Backup { to: PathBuf },
    /// Put a backup in place, or accept the older state that lies there (owner): opens a new epoch
    Restore {
        /// Backup to put in place of the store's database
        #[arg(long, value_name = "FILE", conflicts_with = "accept", required_unless_present = "accept")]
        from: Option<PathBuf>,
        /// Accept the database that lies there now
        #[arg(long)]
        accept: bool,
        /// A sentence for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Destroy text, salt, findings, logged queries and index entries of records (owner)
    Purge {
        #[arg(required = true)]
        records: Vec<RecordId>,
        /// Also purge everything that declares them as a parent
        #[arg(long)]
        with_descendants: bool,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        /// A sentence for the log. Not the text!
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Register and list who may act
    #[command(subcommand)]
    Principal(PrincipalCommand),
    /// What the store is and holds
    Status,
    /// Show, check and load policies
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Attack an honest memory under several policies, on real stores, and show what each let through
    Demo {
        /// Where to write the HTML report
        #[arg(long, default_value = "memwarden-demo.html", value_name = "FILE")]
        report: PathBuf,
        /// Seed of the attack's choices
        #[arg(long, default_value_t = 7)]
        seed: u64,
    },
    /// Serve every verb as JSON lines on stdin and stdout, bound to one credential
    Rpc,
    /// Print a completion script
    Completions { shell: clap_complete::Shell },
}

/// An entry and how it comes in.
#[derive(Debug, Args)]
pub struct Remember {
    /// The text, or `-` to read it from stdin
    pub content: String,
    /// Which store it belongs to [default: by trace type]
    #[arg(long)]
    pub kind: Option<Kind>,
    /// What sort of text it is
    #[arg(long, default_value = "other")]
    pub trace_type: TraceType,
    /// What it is about
    #[arg(long)]
    pub subject: Option<String>,
    /// Where the writer says it came from (a declaration: it proves nothing)
    #[arg(long)]
    pub source: Option<String>,
    /// How far the writer says it can be trusted (a declaration: it proves nothing)
    #[arg(long)]
    pub trust: Option<String>,
    /// A structured value; numbers and true/false are taken as such
    #[arg(long = "field", value_name = "NAME=VALUE")]
    pub fields: Vec<String>,
    /// A record that it was derived from
    #[arg(long = "parent", value_name = "RECORD")]
    pub parents: Vec<RecordId>,
    /// End of its life, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub valid_until: Option<jiff::Timestamp>,
    /// A JSON object to keep with it
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
    /// The record that it replaces
    #[arg(long, value_name = "RECORD")]
    pub supersedes: Option<RecordId>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum RetrievalArg {
    /// BM25 over words
    #[default]
    Lexical,
    /// Edit distance of the whole text
    Levenshtein,
}

#[derive(Debug, Subcommand)]
pub enum Quarantine {
    /// What waits for review, or what was refused
    List {
        /// List what was refused or withdrawn instead
        #[arg(long)]
        retired: bool,
    },
    /// One record: findings, provenance, digest; its text only when asked for
    Show {
        record: RecordId,
        /// Show the text too
        #[arg(long)]
        body: bool,
    },
    /// Make a record visible again (owner or reviewer): its authority stays as it was written
    Release {
        record: RecordId,
        /// SHA-256 of the text that you reviewed, from `quarantine show`
        #[arg(long, value_name = "DIGEST")]
        content: memwarden_core::Digest,
        /// A sentence for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Refuse a record for good (owner or reviewer): its text and the reason are kept
    Reject {
        record: RecordId,
        /// A sentence for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Ledger {
    /// Replay the log and compare every row with it; or verify an export or a proof file without a store
    Verify {
        /// Also hash every text and payload and compare the search indexes
        #[arg(long)]
        deep: bool,
        /// Make search indexes that differ anew (owner)
        #[arg(long)]
        reindex: bool,
        /// A checkpoint that you kept from before
        #[arg(long, value_name = "FILE")]
        held: Option<PathBuf>,
        /// Verify this exported directory instead of the store
        #[arg(long, value_name = "DIR", conflicts_with_all = ["deep", "reindex", "proof"])]
        export: Option<PathBuf>,
        /// Verify this proof file instead of the store
        #[arg(long, value_name = "FILE", conflicts_with_all = ["deep", "reindex"], requires = "key")]
        proof: Option<PathBuf>,
        /// The verifier key that you had before you got the export or proof
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
    },
    /// Print the newest signed checkpoint, or publish it
    Checkpoint {
        /// A file, or the http(s) address of a C2SP witness
        #[arg(long, value_name = "FILE|URL")]
        publish: Option<String>,
    },
    /// Print a proof file that a record was written as the log says
    Prove {
        record: RecordId,
        /// Put the text and its salt into the proof
        #[arg(long)]
        reveal: bool,
    },
    /// Write the log as static files, without any text
    Export {
        /// New directory
        to: PathBuf,
    },
    /// Take damaged records out of the expected set, so that their namespace answers again (owner)
    Isolate {
        #[arg(required = true)]
        records: Vec<RecordId>,
        /// A sentence for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Replace the signing key (owner)
    RotateKey,
}

#[derive(Debug, Subcommand)]
pub enum PrincipalCommand {
    /// Register a principal and write its credential to a new file (owner)
    Add {
        name: String,
        #[arg(long)]
        role: Role,
        /// Administrative domain; support is counted by domain
        #[arg(long)]
        domain: Option<String>,
        /// Credential file [default: NAME.credential in the key directory]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Everyone who is registered
    List,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// The store's policy, or a preset or file
    Show {
        /// Preset or TOML file
        name: Option<String>,
    },
    /// Check a policy file without a store
    Check { file: PathBuf },
    /// Make a policy the store's (owner); what it loosens is printed
    Load {
        /// Preset or TOML file
        name: String,
    },
}
