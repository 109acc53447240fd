//! The command line: every verb, flag and default, and nothing that runs.

use crate::cost_args::CostArgs;
use crate::lab_args::LabCommand;
use clap::{Args, Parser, Subcommand, ValueEnum};
use memwarden::core::model::Purpose;
use memwarden::core::{ContextId, PrincipalId};
use memwarden::{Kind, Namespace, RecordId, Role, TraceType};
use std::net::SocketAddr;
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
    /// Token of the context to act in, from `memwarden begin`
    #[arg(
        long,
        global = true,
        env = "MEMWARDEN_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub token: Option<String>,
    /// Encoder of texts: a name from `memwarden models list`, or a directory with config.json, model.safetensors and
    /// tokenizer.json of a static model (Model2Vec) or a BERT [default: the built-in one]
    #[arg(long, global = true, env = "MEMWARDEN_ENCODER", value_name = "NAME|DIR")]
    pub encoder: Option<PathBuf>,
    /// Directory of the models that have names [default: the user's data directory, memwarden/models]
    #[arg(long, global = true, env = "MEMWARDEN_MODELS", value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// Namespace: 1 to 128 characters of A-Z a-z 0-9 . _ : -
    #[arg(short, long, global = true, default_value_t, value_name = "NAME")]
    pub namespace: Namespace,
    /// A model that stages of the policy ask, as NAME=endpoint:URL#MODEL; without a name, `default`
    #[arg(
        long = "stage-model",
        global = true,
        env = "MEMWARDEN_STAGE_MODELS",
        value_delimiter = ' ',
        value_name = "MODEL"
    )]
    pub stage_models: Vec<String>,
    /// Print JSON for programs instead of tables for people
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a store, its signing key, and credentials for owner, agent and step
    Init {
        /// Preset or TOML file
        #[arg(long, default_value = "warden", value_name = "PRESET|FILE")]
        policy: String,
    },
    /// Remember one entry
    Remember(Remember),
    /// Recall what fits a query
    Recall(Recall),
    /// Import memory files of other tools (MCP memory.jsonl, JSONL, mem0 JSON, Letta .af)
    Import {
        /// Files
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Measure on your own data
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Models whose files lie on this machine (build feature `models`)
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Screen memory files where they lie, without a store: Markdown, JSON, databases, whole directories
    Scan(ScanArgs),
    #[command(flatten)]
    Gate(GateCommand),
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
        #[arg(
            long,
            value_name = "FILE",
            conflicts_with = "accept",
            required_unless_present = "accept"
        )]
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
    /// Say what a policy would do to ordinary memories: what it keeps out and why, time and tokens
    Cost(CostArgs),
    /// Run experiments and report them: attacks against defenses, and what defenses cost
    #[command(subcommand)]
    Lab(LabCommand),
    /// Attack an honest memory under several policies, on real stores, and show what each let through
    Demo {
        /// Where to write the HTML report
        #[arg(long, default_value = "memwarden-demo.html", value_name = "FILE")]
        report: PathBuf,
        /// Seed of the attack's choices
        #[arg(long, default_value_t = 7)]
        seed: u64,
    },
    /// Stand between programs and a model's endpoint and meter every call by its purpose
    Proxy(ProxyArgs),
    /// Answer as an OpenAI-compatible endpoint with a language model of this machine
    ServeModel(ServeModelArgs),
    /// What model calls cost, by what they were for
    #[command(subcommand)]
    Meter(MeterCommand),
    /// Serve every verb as JSON lines on stdin and stdout, bound to one credential
    Rpc,
    /// Print a completion script
    Completions { shell: clap_complete::Shell },
}

/// Where to listen, where calls go, and what is written of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints its address as its first line, and then serves /v1/chat/completions, /v1/embeddings and /v1/models until SIGINT
or SIGTERM. A call says what it is for in the header `x-memwarden-purpose`, or in its base address:
http://ADDRESS/purpose/NAME/v1. Keys stay in the client's own `authorization` header; they are passed on and kept nowhere.")]
pub struct ProxyArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// OpenAI-compatible endpoint, with or without /v1
    #[arg(long, value_name = "URL")]
    pub upstream: String,
    /// Append each call to this file, for `memwarden meter report`
    #[arg(long, value_name = "FILE")]
    pub meter: Option<PathBuf>,
    /// Prices of models, TOML; without it every cost is unknown
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// What a call counts as that names no purpose [default: it is refused]
    #[arg(long, value_name = "NAME")]
    pub default_purpose: Option<Purpose>,
}

/// Which model, and where to listen.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints its address as its first line, and then serves /v1/chat/completions and /v1/models until SIGINT or SIGTERM. It asks
for no key. `memwarden proxy --upstream ADDRESS` before it meters who asks what.")]
pub struct ServeModelArgs {
    /// Language model: GGUF, architecture llama, byte-level tokenizer
    #[arg(value_name = "FILE.gguf")]
    pub file: PathBuf,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
}

/// What to scan, under which policy, and how to report it.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing new as strong as --fail-on, 1 something, 2 wrong use or a PATH that does not exist,
3 a failure of the program or its machine. Files that cannot be read are listed and do not count unless
--fail-on-unreadable is given.

Reads MEMORY.md, CLAUDE.md, AGENTS.md and other Markdown and text; MCP memory.jsonl, JSON lines, mem0 JSON,
Letta .af, any other JSON; LangGraph, Chroma, crewAI and other SQLite databases. It changes none of them.")]
pub struct ScanArgs {
    /// Files and directories
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Preset or TOML file
    #[arg(long, default_value = memwarden::guard::DEFAULT_PRESET, value_name = "PRESET|FILE")]
    pub policy: String,
    /// Kind of report [default: text]
    #[arg(long, value_enum, value_name = "KIND")]
    pub format: Option<ReportFormat>,
    /// The same as --format json-lines (and --json as --format json)
    #[arg(long)]
    pub json_lines: bool,
    /// Write the report to a file and print only the line of figures
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Mildest verdict that makes the exit code 1
    #[arg(long, value_enum, default_value_t, value_name = "VERDICT")]
    pub fail_on: FailOn,
    /// Let a file that cannot be read make the exit code 1
    #[arg(long)]
    pub fail_on_unreadable: bool,
    /// Findings that are known and do not count for the exit code
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write every finding to a baseline, and end with 0
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
}

/// Kinds of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Tables for people
    Text,
    /// One JSON document
    Json,
    /// One JSON object for each entry, a line each
    JsonLines,
    /// SARIF 2.1.0, for code hosts
    Sarif,
}

/// Verdicts that a scan may fail on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Anything that a policy remarks on
    Annotate,
    /// What a policy would keep out
    #[default]
    Quarantine,
}

/// An action and its parameters.
#[derive(Debug, Args)]
pub struct ActionArgs {
    /// The tool
    pub tool: String,
    /// Its parameters, a JSON object
    #[arg(long, value_name = "JSON")]
    pub params: Option<String>,
}

/// What a step reports.
#[derive(Debug, Args)]
pub struct ReceiptArgs {
    /// The context it ran for
    #[arg(long, value_name = "ID")]
    pub context: ContextId,
    /// The step's name
    #[arg(long)]
    pub step: String,
    /// The kind of its subject: the parameter that names it in the policy
    #[arg(long, value_name = "KIND")]
    pub subject_kind: String,
    /// The subject's id
    #[arg(long, value_name = "ID")]
    pub subject_id: String,
    /// The very bytes that were checked: a file, `-` for stdin, or their SHA-256
    #[arg(long, value_name = "FILE|-|SHA256")]
    pub content: String,
    /// passed, failed or error
    #[arg(long)]
    pub outcome: String,
    /// Its arguments, a JSON object
    #[arg(long, value_name = "JSON")]
    pub arguments: Option<String>,
    /// The tool that ran
    #[arg(long)]
    pub tool: Option<String>,
    /// A value that it put out
    #[arg(long = "output", value_name = "NAME=VALUE")]
    pub outputs: Vec<String>,
    /// How long it counts, in seconds [default: 3600]
    #[arg(long, value_name = "SECONDS")]
    pub life_seconds: Option<u64>,
}

/// Contexts and actions.
#[derive(Debug, Subcommand)]
pub enum GateCommand {
    /// Open a context: one model's window. Prints its id and its token
    Begin,
    /// What a person asked for in a context: the mandate for actions in it (owner or user)
    Request {
        context: ContextId,
        text: String,
        /// A tool that it covers [default: every sensitive action of the policy]
        #[arg(long = "tool", value_name = "TOOL")]
        tools: Vec<String>,
    },
    /// Untrusted content entered the window without being stored (needs --token)
    Observe {
        /// Where it came from: a tool's name, an address
        source: String,
        /// The content: a file, `-` for stdin, or its SHA-256
        content: String,
    },
    /// May this action run? Prints the decision and, if so, a permit (needs --token)
    Authorize {
        #[command(flatten)]
        action: ActionArgs,
        /// A person's approval of exactly this action
        #[arg(long, value_name = "ID")]
        approval: Option<RecordId>,
    },
    /// What an action still lacks, one line each; logs nothing (needs --token)
    Explain {
        #[command(flatten)]
        action: ActionArgs,
    },
    /// Spend a permit for what is about to be executed (step)
    Redeem {
        permit: RecordId,
        #[arg(long, value_name = "ID")]
        context: ContextId,
        #[command(flatten)]
        action: ActionArgs,
    },
    /// Confirm one action that somebody else asked for (owner or user)
    Approve {
        #[arg(long, value_name = "ID")]
        context: ContextId,
        #[command(flatten)]
        action: ActionArgs,
    },
    /// A step says that it ran, on which very bytes, and how it ended (step)
    Receipt(ReceiptArgs),
    /// Vouch for a record's text (owner, user or system)
    Endorse {
        record: RecordId,
        /// SHA-256 of the text that you read, from `quarantine show`
        #[arg(long, value_name = "DIGEST")]
        content: memwarden_core::Digest,
        /// A record that you rest on
        #[arg(long = "ground", value_name = "RECORD")]
        grounds: Vec<RecordId>,
        /// A sentence for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Count what a principal wrote in an interval, and what derives from it, for nothing (owner)
    Revoke {
        /// Id of the principal, from `memwarden principal list`
        principal: Option<PrincipalId>,
        /// Start of the interval, RFC 3339
        #[arg(long, value_name = "TIME")]
        since: Option<jiff::Timestamp>,
        /// End of the interval, RFC 3339 [default: none]
        #[arg(long, value_name = "TIME")]
        until: Option<jiff::Timestamp>,
        /// Take back the revocation at this log entry
        #[arg(long, value_name = "ENTRY", conflicts_with_all = ["principal", "since", "until"])]
        undo: Option<u64>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        /// A sentence for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
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

#[derive(Debug, Subcommand)]
pub enum EvalCommand {
    /// How much of the evidence for questions about dialogues each way of recall finds
    Recall {
        /// Dialogues with questions and the turns that answer them, in the format of LoCoMo
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// What is known by a name, where it lies and what it can do
    List,
    /// Give a model a name, after it was loaded and answered. Its files stay where they are
    Add {
        /// 1 to 64 characters of a-z 0-9 . _ -
        name: String,
        /// A GGUF file, or a directory with config.json, model.safetensors and tokenizer.json
        path: PathBuf,
    },
    /// Load models, ask each something, and say what it said
    #[command(after_help = "Exit codes: 0 every model loads and answers, 1 one does not.")]
    Check {
        /// Only this one
        name: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum MeterCommand {
    /// Add up the calls of a meter's file
    #[command(after_help = "Exit codes: 0 every line was read, 1 some lines are damaged and in no sum.")]
    Report {
        /// File that calls were metered to
        file: PathBuf,
        /// What gets a row
        #[arg(long, value_enum, default_value_t)]
        by: MeterBy,
        /// Print comma-separated values (RFC 4180)
        #[arg(long, conflicts_with = "json")]
        csv: bool,
    },
}

/// What gets a row in a report of the meter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum MeterBy {
    /// What calls were for
    #[default]
    Purpose,
    /// The model that was asked
    Model,
    /// The cell of an experiment
    Cell,
}

/// What to look for, and where it may come from.
#[derive(Debug, Args)]
pub struct Recall {
    /// What to look for, in words
    pub query: String,
    /// How many records at most, 1 to 100
    #[arg(short, default_value_t = 10)]
    pub k: usize,
    /// Only this kind
    #[arg(long)]
    pub kind: Option<Kind>,
    /// Only what was written at or after this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub since: Option<jiff::Timestamp>,
    /// Only what was written before this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub until: Option<jiff::Timestamp>,
    /// Only what this principal wrote
    #[arg(long, value_name = "ID")]
    pub principal: Option<PrincipalId>,
    /// Only what has at least this effective authority
    #[arg(long, value_enum)]
    pub authority: Option<AuthorityArg>,
    /// How to look
    #[arg(long, value_enum, default_value_t)]
    pub retrieval: RetrievalArg,
    /// Print the block for a model's context instead of a table
    #[arg(long)]
    pub block: bool,
    /// Say why each record stands where it does
    #[arg(long, conflicts_with = "block")]
    pub explain: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum AuthorityArg {
    /// Anything
    None,
    /// What may inform
    Inform,
    /// What may act
    Act,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum RetrievalArg {
    /// Words and vectors, fused by reciprocal rank
    #[default]
    Hybrid,
    /// BM25 over words
    Lexical,
    /// Cosine of vectors
    Vector,
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
        /// Its key vouches that what it hands over as said by a user was said by one, so it may open requests:
        /// for the program between person and model, never for the model's own key
        #[arg(long)]
        attest_roles: bool,
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
