use crate::runtime_contracts::runtime_contract_enum;

runtime_contract_enum! {
    /// How Palyra is deployed.
    pub enum DeploymentProfile {
        /// One person's machine; the default.
        Local = "local",
        /// One server.
        SingleVm = "single-vm" ["single_vm", "singleVm"],
        /// Several nodes on one Postgres.
        WorkerEnabled = "worker-enabled" ["worker_enabled", "workerEnabled"],
    }

    /// Which addresses a profile's listeners may have.
    pub enum BindPolicy {
        /// Only this machine can reach them.
        LoopbackOnly = "loopback_only",
        /// Loopback, to be reached from elsewhere through a reverse proxy with TLS. A public address
        /// would need TLS of the daemon's own, which it does not speak, so it is refused.
        LoopbackBehindProxy = "loopback_behind_proxy",
        /// Loopback, or a public address with TLS and both acknowledgements. No profile has it before
        /// the daemon speaks TLS.
        LoopbackOrGuardedPublic = "loopback_or_guarded_public",
    }

    /// A statement of the operator that a public listener is meant. They are made in two places, so
    /// that neither a copied file nor a stray flag is enough.
    pub enum BindAcknowledgement {
        /// Written in the configuration file.
        InConfiguration = "in_configuration",
        /// Given at start, as a flag or in the environment.
        AtStart = "at_start",
    }

    /// Why a listener may or may not be opened.
    pub enum BindReason {
        /// Allowed: only this machine can reach it.
        Loopback = "loopback",
        /// Allowed: public, with TLS and both acknowledgements.
        GuardedPublic = "guarded_public",
        /// Refused: the profile allows loopback addresses only.
        ProfileIsLoopbackOnly = "profile_is_loopback_only",
        /// Refused: a public listener needs TLS.
        TlsMissing = "tls_missing",
        /// Refused: the configuration file does not acknowledge a public listener.
        ConfigurationAcknowledgementMissing = "configuration_acknowledgement_missing",
        /// Refused: the start does not acknowledge a public listener.
        StartAcknowledgementMissing = "start_acknowledgement_missing",
    }

    /// The database behind a profile.
    pub enum StorageEngine {
        /// One file in the data directory.
        Sqlite = "sqlite",
        /// A server that several nodes share.
        Postgres = "postgres",
    }

    /// Where large content is kept.
    pub enum BlobPlace {
        /// A folder in the data directory.
        LocalFolder = "local_folder",
        /// An S3-compatible bucket.
        S3Compatible = "s3_compatible",
        /// A folder that every node mounts.
        SharedFolder = "shared_folder",
    }

    /// Who sees to backups.
    pub enum BackupStance {
        /// The operator makes them when wanted.
        OnDemand = "on_demand",
        /// The operator makes them on a schedule, such as a timer that runs `palyra backup create`.
        Scheduled = "scheduled",
    }

    /// Which processes do the work.
    pub enum WorkerTopology {
        /// One process does everything.
        SingleProcess = "single_process",
        /// Every node takes leased work.
        EveryNode = "every_node",
    }

    /// What a caller needs to be let in.
    pub enum AuthRequirement {
        /// The login link that the daemon prints.
        LocalLoginLink = "local_login_link",
        /// A device that was paired.
        Pairing = "pairing",
        /// An API token.
        Tokens = "tokens",
        /// Certificates on both ends between node and gRPC clients.
        MutualTls = "mutual_tls",
    }

    /// What is said where confined processes are impossible. In every profile process tools are
    /// then off: nothing runs in less than the strict sandbox.
    pub enum SandboxStance {
        /// The doctor says why.
        DoctorExplains = "doctor_explains",
        /// The doctor says why, and a preflight warns.
        PreflightWarns = "preflight_warns",
        /// Strict or off is the rule, and nothing is added to it.
        StrictOrOff = "strict_or_off",
    }

    /// A check made before the daemon starts to serve.
    pub enum PreflightCheck {
        /// The configuration is valid, and has what the profile demands.
        Config = "config",
        /// The data directory can be written, and the database is one that a start would take.
        StoragePath = "storage_path",
        /// The listeners are allowed and their ports free.
        Bind = "bind",
        /// There is room to work.
        DiskSpace = "disk_space",
        /// The clock is right.
        Clock = "clock",
        /// Not checked, but a reminder: backups are made outside of the daemon, which cannot see them.
        BackupTarget = "backup_target",
        /// Only this machine can reach the daemon, which has no TLS. A reverse proxy is not looked at.
        Tls = "tls",
        /// The Postgres server answers, and is not too old.
        PostgresVersion = "postgres_version",
        /// How long one question to Postgres takes there and back.
        PostgresLatency = "postgres_latency",
        /// The place of blobs can be opened; what is put there comes back and can be deleted.
        BlobRoundTrip = "blob_round_trip",
        /// What is written where the files of agents are can be read and deleted again.
        Workspaces = "workspaces",
        /// A lease can be taken, renewed and given back. Not tried before a start has made the schema.
        LeaseRoundTrip = "lease_round_trip",
        /// Nothing to check: each start of a node has a new id of its own.
        NodeId = "node_id",
    }

    /// Ready-made files for running a profile.
    pub enum DeploymentRecipe {
        /// A systemd unit of the user, which `palyra daemon install` writes.
        SystemdUnit = "systemd_unit",
        /// A Dockerfile.
        Dockerfile = "dockerfile",
        /// A compose file for one daemon.
        Compose = "compose",
        /// A compose file with Postgres.
        ComposeWithPostgres = "compose_with_postgres",
        /// A systemd template, one instance per node.
        SystemdTemplatePerNode = "systemd_template_per_node",
    }
}
