//! The table of all codes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::code::{Retry, UnknownErrorCode, error_codes};
use crate::serde_text;

error_codes! {
    CommonInvalidInput = "common/invalid_input", Final,
        means: "the request has a value that cannot be accepted",
        hint: "Correct the value that the message names and try again.";
    CommonNotFound = "common/not_found", Final,
        means: "what the request names does not exist",
        hint: "Check the id or name; list what exists to see whether it was removed.";
    CommonConflict = "common/conflict", Final,
        means: "the request contradicts what is already there",
        hint: "Look at what is there now. If it is not what you want, ask for what still fits it.";

    StorageUnavailable = "storage/unavailable", Retryable,
        means: "the database cannot be reached",
        hint: "With Postgres, check that the server runs and that `storage.url` points to it. With SQLite, check the disk and that the data directory is a folder that can be made and opened. A daemon that runs goes on by itself once the cause is gone; one that could not start has ended, so start it again.";
    StorageBusy = "storage/busy", Retryable,
        means: "others were using the database for longer than the request was tried",
        hint: "Try again in a moment. If it lasts, look for another program that holds the database or its rows, such as a backup, and for a slow disk.";
    StorageDiskFull = "storage/disk_full", Retryable,
        means: "the disk that holds the data directory is full",
        hint: "Free space on that disk or move the data directory to a larger one. A daemon that runs goes on by itself once there is space; one that could not start has ended, so start it again.";
    StorageSizeLimit = "storage/size_limit", Retryable,
        means: "the database has reached the size that `storage.max_bytes` allows",
        hint: "Raise `storage.max_bytes` or set it to 0, and start the daemon again; or have rows removed by shorter retention, whose room is used again.";
    StorageReadOnly = "storage/read_only", Final,
        means: "the data directory, the folder of blobs or the database does not allow writing",
        hint: "Give the user that runs the daemon write permission on what the message names, or remount its file system writable; on Postgres, point `storage.url` to the primary.";
    StorageOpenToOthers = "storage/open_to_others", Final,
        means: "the data directory belongs to somebody else, or others can write to it, and so act as its owner",
        hint: "Look whether somebody has put anything there. Then run the command that the message names, and start the daemon again; `palyra doctor --fix` takes permissions away from others, too.";
    StorageCorrupt = "storage/corrupt", Final,
        means: "the database file is damaged or is not a database",
        hint: "Stop the daemon, rename the data directory so that the damaged file is kept, and run `palyra backup restore FILE` with the newest good backup. Put `palyra.toml` back if there was one.";
    StorageForbidden = "storage/forbidden", Final,
        means: "the database server does not accept the login, or does not allow it what Palyra needs",
        hint: "Check user, password and database in `storage.url`. The user needs to create and use tables: as an administrator, run `GRANT USAGE, CREATE ON SCHEMA public TO …` in that database, or make the user its owner.";
    StorageForeign = "storage/foreign", Final,
        means: "the database belongs to another program",
        hint: "Nothing was changed. Give Palyra a data directory of its own with `--data-dir`, or on Postgres a database of its own in `storage.url`.";
    StorageServerTooOld = "storage/server_too_old", Final,
        means: "the Postgres server is older than Palyra can work with",
        hint: "Upgrade the server, or point `storage.url` to a newer one.";
    StorageNewerSchema = "storage/newer_schema", Final,
        means: "the database was written by a newer version of Palyra",
        hint: "Start the newer version again. Or go back to the state from before it migrated the database: stop the daemon with `palyra daemon stop`, and put back the copy with the command that the message gives; what was written since stays in the file that the command names. Where the message gives none, restore a backup of your own into a new place: `palyra --data-dir NEW backup restore FILE`.";
    StorageMigrationFailed = "storage/migration_failed", Final,
        means: "bringing the database up to this version failed",
        hint: "The database is as it was before the step that failed. Fix the cause that the message names and start again, or go on with the previous version.";
    StorageLocked = "storage/locked", Final,
        means: "another process holds the data directory",
        hint: "Stop the other daemon, or give this one its own directory with `--data-dir`. To run several daemons on one state, use Postgres.";
    StorageDatabaseGone = "storage/database_gone", Final,
        means: "the database is not where it was: its file is missing, empty or replaced, and something beside it shows that there was one",
        hint: "Put `palyra.db` back from where it went. If the database is on a Postgres server, name that again with `palyra config set storage.url -` or the variable `PALYRA_STORAGE_URL`. Or restore a copy of it that is in the data directory with `palyra backup restore`. Otherwise move what the message names to a safe place outside the data directory, and restore a backup, or start again to begin with an empty database.";
    StorageLinked = "storage/linked", Final,
        means: "the file of the database is a link to another place",
        hint: "Stop whatever uses the database, and move it into the data directory in the place of the link, with `palyra.db-wal` and `palyra.db-journal` if they are beside it. To keep everything on another disk, give the daemon a directory there with `--data-dir`, or make the data directory itself a link.";
    StorageUnfinishedRestore = "storage/unfinished_restore", Final,
        means: "a restore into the data directory was begun and not finished",
        hint: "Run the restore again. To start with an empty database instead, move the file that the message names and the folder `blobs` beside it to a safe place outside the data directory.";
    StorageUnfinishedReturn = "storage/unfinished_return", Final,
        means: "going back to a copy of the database was begun and not finished",
        hint: "Run the restore of the copy, or of another one, again: it goes on from where it was, and says under which name the database that was there is kept. The version that wrote that one can put it back in the same way. If there is no copy any more: the file that the message names holds a name; move the files that bear it back to `palyra.db`, `palyra.db-wal` and `palyra.db-journal`, as far as they are there, and then remove the file that the message names.";
    StorageCommitUnknown = "storage/commit_unknown", Final,
        means: "the connection was lost or the disk failed while committing, and whether the commit happened could not be learnt",
        hint: "Look whether the change is there before you make it again.";
    StorageConstraint = "storage/constraint", Final,
        means: "a row that must be unique is already there, or a row that must exist is missing",
        hint: "Read the current state; what the request wants to create may exist already, or what it refers to may be gone.";
    StorageStaleLease = "storage/stale_lease", Final,
        means: "the work was taken over by another owner, so this one's write was refused",
        hint: "Nothing to do: the new owner goes on with the work. If it repeats, check that the node is not starved of CPU and that its connection to the database is steady.";
    StorageInvalidValue = "storage/invalid_value", Final,
        means: "a stored or given value has the wrong shape",
        hint: "If the value was given, correct it. If it was stored, the data was changed from outside or by a faulty version: restore a backup, or report it.";
    StorageShuttingDown = "storage/shutting_down", Retryable,
        means: "the daemon is stopping and takes no more work",
        hint: "Try again when the daemon is back, or on another node.";
    StorageInternal = "storage/internal", Final,
        means: "the storage layer met a case that it does not expect",
        hint: "This is a defect in Palyra. Report it with the message and the log around it.";

    JournalBrokenChain = "journal/broken_chain", Final,
        means: "the audit journal does not match its own hash chain",
        hint: "Keep a copy of the database as evidence, and compare the entries around the one that the message names with a backup.";

    ConfigInvalid = "config/invalid", Final,
        means: "the configuration cannot be used",
        hint: "Correct what the message names; `docs/palyra.example.toml` describes every option, and `palyra config validate` checks a file without starting anything.";
    ConfigOpenToOthers = "config/open_to_others", Final,
        means: "others can change the configuration file, and so what the daemon does",
        hint: "Look whether somebody has changed it. Then run the command that the message names, or keep the file where nobody else can write, as in the data directory.";
    ConfigUnknownKey = "config/unknown_key", Final,
        means: "the configuration has an option that does not exist",
        hint: "Correct the option, or remove it with `palyra config unset`; the message names it, and the nearest one that exists.";

    DaemonAddressInUse = "daemon/address_in_use", Final,
        means: "another program listens on the address already",
        hint: "Stop the other program, or choose another address: for one start with `palyra daemon start -- --http-bind ADDRESS` or `--grpc-bind`, for good with `palyra config set http.bind ADDRESS` or `grpc.bind`. Port 0 picks a free one.";
    DaemonAddressRefused = "daemon/address_refused", Final,
        means: "the deployment profile does not allow this address",
        hint: "Listen on a loopback address such as 127.0.0.1:7142 and put a reverse proxy before it.";
    DaemonStopped = "daemon/stopped", Final,
        means: "the daemon stopped before its work was finished, because it was asked twice or that took too long",
        hint: "What was accepted is written down, and what was under way is settled by the next start as after a crash. A master key that only this daemon still had (`vault/key_only_in_memory`) went with it: bring that back before secrets are needed. If it took too long, look whether the database can be reached and written to; the log says what waits for it. Start the daemon again.";
    DaemonFailed = "daemon/failed", Final,
        means: "the daemon could not start or could not go on",
        hint: "Put right what the message names and start again. If it names nothing that you can change, report it with the log.";

    AuthRequired = "auth/required", Final,
        means: "the request carries no credential",
        hint: "Log in with the link that `palyra dashboard` gives, or send an API token as `Authorization: Bearer …`, from the command line with `--token-file`. On the daemon's machine the command line needs neither.";
    AuthInvalid = "auth/invalid", Final,
        means: "the credential is not known here",
        hint: "Check that the token was copied whole and belongs to this installation; make a new one with `palyra auth tokens create`.";
    AuthExpired = "auth/expired", Final,
        means: "the credential is no longer valid, because its time has passed",
        hint: "Log in again with `palyra dashboard`, or make a new token with `palyra auth tokens create`.";
    AuthRevoked = "auth/revoked", Final,
        means: "the credential was revoked",
        hint: "Ask the one who revoked it, or make a new one with `palyra auth tokens create`.";
    AuthForbidden = "auth/forbidden", Final,
        means: "the credential does not allow this",
        hint: "Use a credential with the scope that the message names.";
    AuthLocalOnly = "auth/local_only", Final,
        means: "this is done only on the daemon's machine, as its user",
        hint: "Run the command there, as the user of the daemon and without --host.";
    AuthCsrf = "auth/csrf", Final,
        means: "a change from a browser did not prove that it came from the console",
        hint: "Reload the console and try again.";
    AuthLinkUnknown = "auth/link_unknown", Final,
        means: "the login link is not one of this installation",
        hint: "Check that the link was copied whole, or ask whoever sent it for a new one; on the daemon's machine `palyra dashboard` makes one.";
    AuthLinkUsed = "auth/link_used", Final,
        means: "the login link was used already",
        hint: "A link works once. Ask whoever sent it for a new one; on the daemon's machine `palyra dashboard` makes one.";
    AuthLinkExpired = "auth/link_expired", Final,
        means: "the login link has expired",
        hint: "Ask whoever sent it for a new one, and use it at once; on the daemon's machine `palyra dashboard` makes one.";

    HttpHostRefused = "http/host_refused", Final,
        means: "the request was made to a name that is not this daemon's",
        hint: "Use the address that the daemon prints, or name the host in `http.hosts`.";
    HttpOriginRefused = "http/origin_refused", Final,
        means: "the request comes from a page of another site",
        hint: "Use the console that the daemon serves, or name the site in `http.hosts`.";
    HttpMalformed = "http/malformed", Final,
        means: "the request cannot be understood",
        hint: "Compare the request with `schemas/openapi/palyra.json`.";
    HttpTooLarge = "http/too_large", Final,
        means: "the request is larger than is accepted",
        hint: "Send less at once, or raise the limit that the message names.";
    HttpMethod = "http/method_not_allowed", Final,
        means: "the address exists but does not know this method",
        hint: "Compare the request with `schemas/openapi/palyra.json`.";
    HttpMediaType = "http/media_type", Final,
        means: "the body is not of a type that is understood here",
        hint: "Send JSON with `Content-Type: application/json`.";
    HttpSlow = "http/slow", Retryable,
        means: "the request took longer than is allowed",
        hint: "What it was to change may be changed all the same: look first, or send it again with the same \
               `Idempotency-Key`; if it lasts, look at the load and the disk of the machine.";
    HttpBusy = "http/busy", Retryable,
        means: "there are more requests than are accepted at once",
        hint: "Wait a moment and try again, with fewer requests at the same time.";

    StreamSlowReader = "stream/slow_reader", Retryable,
        means: "the reader of a stream took nothing from it for longer than is allowed, so it was ended",
        hint: "Nothing is lost: attach again after the entry that the message names. Take what comes at once, and do what takes long elsewhere; or raise `http.request_timeout`.";

    VaultNoKey = "vault/no_key", Final,
        means: "the master key cannot be had, so secrets cannot be read or written",
        hint: "Give the key back to its source (key file, keyring, passphrase or command); everything else works without it. If the key is lost, its secrets are lost: delete them and set them again.";
    VaultKeyExposed = "vault/key_exposed", Final,
        means: "the file with the master key, or its passphrase, is open to other users, so it is not used",
        hint: "Nothing is lost. Run `chmod 600` on the file that the message names. If somebody may have read it, change the key then with `palyra secrets rotate-master`.";
    VaultWrongKey = "vault/wrong_key", Final,
        means: "the master key is not the one that the secrets were locked with",
        hint: "Nothing was changed. Bring back the key with the id that the message names, or point `vault` to the source that has it; old keys are named by their id, beside the key file or in the keyring, whichever had them. If it is lost, its secrets are lost and nothing else: delete them and set them again.";
    VaultKeyOnlyInMemory = "vault/key_only_in_memory", Final,
        means: "the master key is not where the next start looks for it, and the running daemon has it in memory alone, so nothing new is locked with it",
        hint: "Nothing is lost while the daemon runs, so do not stop it. Run `palyra secrets rotate-master`, which writes a new key in the place of the old one, or bring the key back to where the message says. If it comes from a passphrase, bring that back, or give a new one with `palyra secrets rotate-master --ask-passphrase`.";
    VaultKeyNotWritten = "vault/key_not_written", Final,
        means: "a new master key could not be kept where it belongs, so it was not taken into use",
        hint: "Nothing is lost, and the key in use is the one from before. Free space on the disk that the message names, let the user that runs the daemon write there, or unlock the keyring; then try again.";
    VaultDamaged = "vault/damaged", Final,
        means: "a stored secret does not match its seal",
        hint: "It was changed or damaged after it was stored. Restore a backup, or set the secret again.";
    VaultTooLarge = "vault/too_large", Final,
        means: "the value is larger than a secret may be",
        hint: "Store at most 64 KiB; keep larger content in a file and its key in the vault.";
    VaultFull = "vault/full", Final,
        means: "there are more secrets than the vault keeps: 4000 versions, of up to ten per secret, or 16 MiB in all",
        hint: "Delete secrets that are not needed any more, with all their versions, and try again.";

    ChannelQueueFull = "channel/queue_full", Retryable,
        means: "as many messages as may be wait in that conversation",
        hint: "See with `palyra channels show` why they do not go out. Send again when fewer wait, or raise `max_waiting` in the settings of the channel's queue.";
    ChannelNotHere = "channel/not_here", Retryable,
        means: "the channel does not run on the node that was asked, so that its platform cannot be asked for anything",
        hint: "See with `palyra channels show` whether it runs and what it lacks, and on which node. Ask again when it runs here.";
    ChannelNotCapable = "channel/not_capable", Final,
        means: "the platform of the channel cannot do that",
        hint: "Nothing helps but another platform. What was said through Palyra can be read with `palyra message read` on every channel.";
    ChannelPlatformFailed = "channel/platform_failed", Retryable,
        means: "the platform of the channel was asked, and has refused, failed or not answered in time",
        hint: "The message says what it said. Try again later; `palyra channels show` says how the connection is.";

    NetNoClient = "net/no_client", Final,
        means: "no request can be made to the outside, most often because this machine has no root certificates",
        hint: "Install the root certificates of the system (package ca-certificates on Debian and its like), or name a file with some in `net.ca_file`, and start the daemon again.";
    NetUrlRefused = "net/url_refused", Final,
        means: "the URL is not one that is fetched",
        hint: "Give an absolute URL of http or https, without a user name, a password, backslashes or control characters.";
    NetRequestRefused = "net/request_refused", Final,
        means: "the request has a header or a body that a caller may not send",
        hint: "Leave out what the message names. Headers about the connection, the host and cookies are not for callers; a body goes with POST only.";
    NetPortRefused = "net/port_refused", Final,
        means: "the port belongs to another protocol than HTTP",
        hint: "Check the URL. If a web server really listens there, name the port in `net.allow_ports`.";
    NetHostNotGranted = "net/host_not_granted", Final,
        means: "the host is not among those that this request may go to",
        hint: "Ask for the host in what the tool or skill is granted, or use one that it has.";
    NetAddressRefused = "net/address_refused", Final,
        means: "the host is on this machine, in a private network or at another address that is not public",
        hint: "If it is to be reached by agents, tools and skills, name the host or its network in `net.allow`. If nobody meant to, look at where the request came from.";
    NetNoAddress = "net/no_address", Retryable,
        means: "the name of the host could not be looked up",
        hint: "Check the name, and that this machine can look names up.";
    NetUnreachable = "net/unreachable", Retryable,
        means: "no connection to the host could be made, so nothing was sent",
        hint: "Check the host and port, and the network or proxy of this machine; then try again.";
    NetTls = "net/tls", Final,
        means: "the host could not prove that it is what it is called, so nothing was sent",
        hint: "Check the name and the clock of this machine. For an authority of your own, name its certificate in `net.ca_file`.";
    NetBusy = "net/busy", Retryable,
        means: "as many requests as may be were under way all the time",
        hint: "Try again later, or raise `net.max_at_once`.";
    NetTimeout = "net/timeout", Retryable,
        means: "the whole answer did not come in the time that was allowed",
        hint: "Try again, or allow more time, up to `net.max_time`.";
    NetBrokeOff = "net/broke_off", Retryable,
        means: "the connection ended before the answer did",
        hint: "Try again. If it repeats, look whether the other side or a proxy ends it.";
    NetOutcomeUnknown = "net/outcome_unknown", Final,
        means: "a request that may change something was sent and not answered, so whether it was acted on is not known",
        hint: "Look at the other side before you make it again.";
    NetTooLarge = "net/too_large", Final,
        means: "the answer is larger than is allowed, as it was sent or once it was unpacked",
        hint: "Ask for less, or allow more in what is granted and in `net.max_bytes` or `net.max_header_bytes`.";
    NetBadAnswer = "net/bad_answer", Final,
        means: "the answer cannot be read",
        hint: "Check that a web server listens there. A server that packs its answers may use gzip only.";
    NetRedirectRefused = "net/redirect_refused", Final,
        means: "the answer is a redirect that is not followed",
        hint: "Fetch the address that it leads to in the end. Redirects in circles, from https to http and to anything but http and https are never followed.";

    BackupInvalid = "backup/invalid", Final,
        means: "the file is not a whole backup of Palyra",
        hint: "Take another backup; this one is damaged, was cut off or is of a newer version.";
    BackupTargetInUse = "backup/target_in_use", Final,
        means: "the place to restore to holds data already",
        hint: "Restore to a data directory without a database and blobs, as a new one with `--data-dir`, or to an empty Postgres database; then start the daemon on it.";

    ClientDaemonNotRunning = "client/daemon_not_running", Final,
        means: "no daemon runs on this data directory",
        hint: "Start it with `palyra daemon start`. If it runs on another data directory, name that one with `--data-dir`; if it runs on another machine, with `--host`.";
    ClientUnreachable = "client/unreachable", Retryable,
        means: "the daemon could not be reached, or broke off its answer",
        hint: "Check the address and that the daemon runs; `palyra daemon logs` shows what it said last.";
    ClientNotPermitted = "client/not_permitted", Final,
        means: "this user may not open the data directory or the socket in it",
        hint: "Run the command as the user that runs the daemon, as with `sudo -u USER`; or name the daemon with `--host` and use an API token; or choose a data directory of your own with `--data-dir`.";
    ClientUnexpectedAnswer = "client/unexpected_answer", Final,
        means: "what answered does not speak as this version of Palyra does",
        hint: "Check that the address is that of a Palyra daemon, and that the command line and the daemon are of the same version.";
    ClientPalyradMissing = "client/palyrad_missing", Final,
        means: "the program palyrad was not found",
        hint: "Put `palyrad` beside `palyra` or into the PATH, or name it in `PALYRA_PALYRAD`.";
    ClientPalyradFailed = "client/palyrad_failed", Final,
        means: "palyrad was started and failed",
        hint: "Correct what it said; `palyra daemon logs` shows more of it, and `palyra deployment preflight` checks the machine.";
    ClientLocalFile = "client/local_file", Final,
        means: "a file on this machine could not be read or written",
        hint: "Check that its folder is there, that you may write to it, and that the disk has room.";

    ClientDeclined = "client/declined", Final,
        means: "a question of the command line was answered with no",
        hint: "Nothing was changed. Run the command again and answer y, or add `--yes`.";
    ClientInterrupted = "client/interrupted", Final,
        means: "the command was interrupted",
        hint: "Run it again to finish it.";

    ModelsRateLimited = "models/rate_limited", Retryable,
        means: "the provider of the model asks to wait before the next call",
        hint: "Nothing to do: the call is made again when the provider allows it. If it lasts, raise the limit at the provider, or name another model after this one in the agent's list.";
    ModelsOverloaded = "models/overloaded", Retryable,
        means: "the provider of the model has a failure of its own, or too much to do",
        hint: "Nothing to do: the call is made again. If it lasts, look at the provider's page about its state, or name another model after this one in the agent's list.";
    ModelsUnreachable = "models/unreachable", Retryable,
        means: "the provider of the model could not be reached, so nothing was sent",
        hint: "Check the network and `models.providers.NAME.base_url`; for a model on this machine, check that its server runs.";
    ModelsCutOff = "models/cut_off", Retryable,
        means: "the answer of the model broke off before its end",
        hint: "Nothing to do: the call is made again. If it lasts, look at what stands between the daemon and the provider, such as a proxy with a time limit.";
    ModelsTimedOut = "models/timed_out", Retryable,
        means: "the model did not answer in time, or fell silent in the middle",
        hint: "Nothing to do: the call is made again. For a slow model raise `models.providers.NAME.idle_timeout` or `models.providers.NAME.timeout`.";
    ModelsMalformedAnswer = "models/malformed_answer", Retryable,
        means: "what the provider of the model answered cannot be understood",
        hint: "Check that `models.providers.NAME.kind` and `base_url` belong together: an address of the openai kind mostly ends in /v1.";
    ModelsPaused = "models/paused", Retryable,
        means: "the provider of the model has failed several times and is left alone for a while",
        hint: "Nothing to do: it is tried again by itself. The message says why it failed.";
    ModelsAllUnavailable = "models/all_unavailable", Retryable,
        means: "none of the models in the list could be used",
        hint: "Nothing to do: they are tried again. The message names each of them with its problem.";
    ModelsUnauthorized = "models/unauthorized", Final,
        means: "the provider of the model does not accept the key",
        hint: "Set a valid key with `palyra secrets set`, under the name in `models.providers.NAME.api_key`, and check that the account may use the model.";
    ModelsNoKey = "models/no_key", Final,
        means: "the key for the provider of the model cannot be had",
        hint: "Set it with `palyra secrets set`, under the name in `models.providers.NAME.api_key`. Check that the vault can be opened with `palyra doctor`.";
    ModelsRefused = "models/refused", Final,
        means: "the provider of the model refuses the request",
        hint: "Read the reason in the message. Check the account's credit, and that the model supports what was asked, such as images or tools.";
    ModelsContextTooLong = "models/context_too_long", Final,
        means: "the conversation is longer than the model can take",
        hint: "Begin a new session, or use a model with a larger context. If its size is known, set `models.entries.NAME.context_tokens` to it.";
    ModelsUnknownModel = "models/unknown_model", Final,
        means: "the provider does not know the model, or there is nothing at its address",
        hint: "Correct `models.entries.NAME.model` or `models.providers.NAME.base_url`; a model on this machine may have to be downloaded first.";
    ModelsNotConfigured = "models/not_configured", Final,
        means: "there is no model of this name in the configuration",
        hint: "Add it as `[models.entries.NAME]`, or correct the agent's list; `palyra models list` tells which models there are.";
    ModelsAnswerTooLarge = "models/answer_too_large", Final,
        means: "the model answered more than is accepted, so the answer was broken off",
        hint: "Ask for less at once. If it repeats, the model or its server is at fault: try another one.";

    ChatModelNotFound = "chat/model_not_found", Final,
        means: "the `model` of a request to `/v1` is no agent here",
        hint: "Give the name of an agent as `model`: `GET /v1/models` and `palyra agents list` tell which there are.";
    ChatApprovalNeeded = "chat/approval_needed", Final,
        means: "the agent asks a human before it goes on with the request, and waits",
        hint: "Decide about it. After that a request with an `Idempotency-Key`, sent again as it was, gets the answer; without one the answer is in the run that the message names: `palyra runs tail RUN`.";
    ChatTooLong = "chat/too_long", Final,
        means: "the conversation in the request is more than the agent reads at once, or may use",
        hint: "Send less of it, or raise `limits.context_tokens` or `limits.cap.tokens` of the agent with `palyra agents set`.";
    ChatBudgetSpent = "chat/budget_spent", Final,
        means: "a budget of the agent is spent, so it does not answer",
        hint: "Wait for the next day where it is a budget by day, or raise it: `palyra agents show AGENT` tells them, `palyra agents set` changes them.";
    ChatStopped = "chat/stopped", Final,
        means: "somebody has stopped the run that was to answer",
        hint: "Ask again if it was stopped by mistake; `palyra runs show RUN` tells who did.";
    ChatRunFailed = "chat/run_failed", Final,
        means: "the run that was to answer has failed",
        hint: "The message says why. `palyra runs show RUN` tells what happened in it, and `palyra models test` how the models are.";
    ChatStartedOver = "chat/started_over", Final,
        means: "the model broke off and began again with other words, when a part of the answer was sent already",
        hint: "Drop what was received and ask again; a request that does not stream, or has an `Idempotency-Key` and is sent again, gets the whole answer.";
    ChatCutOff = "chat/cut_off", Retryable,
        means: "the stream ends before its answer: the daemon stops, the credential has ended, or there were too many connections",
        hint: "Drop what was received and ask again. With an `Idempotency-Key` the same request goes on where it was.";

    BlobNotFound = "blob/not_found", Final,
        means: "the content that a row refers to is not in the blob store",
        hint: "Check that the blob store is the one that this database was used with; restore the missing content from a backup.";
    BlobCorrupt = "blob/corrupt", Final,
        means: "stored content does not match its SHA-256",
        hint: "Check the disk or bucket for damage and restore the content from a backup.";
    BlobUnavailable = "blob/unavailable", Retryable,
        means: "the blob store cannot be reached",
        hint: "Check the folder or the S3 endpoint, its credentials and the network. A daemon that runs goes on by itself once it answers; one that could not start has ended, so start it again.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Exact: codes are written by programs, not by people.
impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|code| code.as_str() == text);
        known.copied().ok_or_else(|| UnknownErrorCode(text.to_owned()))
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_text::deserialize(deserializer, "a stable error code")
    }
}
