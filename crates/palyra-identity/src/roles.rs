//! What a role allows. The whole table is in a snapshot beside its test.

use palyra_common::runtime_contracts::{Role, Scope};

use crate::ScopeSet;

/// Whether `role` includes `scope`.
pub const fn role_allows(role: Role, scope: Scope) -> bool {
    match role {
        Role::Owner => match scope {
            Scope::StatusRead
            | Scope::MetricsRead
            | Scope::AuditRead
            | Scope::TokensRead
            | Scope::TokensWrite
            | Scope::SecretsRead
            | Scope::SecretsWrite
            | Scope::ConfigRead
            | Scope::ConfigWrite
            | Scope::BackupsCreate
            | Scope::LoginsWrite => true,
        },
        Role::Operator => match scope {
            Scope::StatusRead
            | Scope::MetricsRead
            | Scope::AuditRead
            | Scope::TokensRead
            | Scope::TokensWrite
            | Scope::SecretsRead
            | Scope::SecretsWrite
            | Scope::ConfigRead
            | Scope::ConfigWrite
            | Scope::LoginsWrite => true,
            // A backup holds what belongs to others, the owner included.
            Scope::BackupsCreate => false,
        },
        Role::Approver => match scope {
            // A login code hands on no more than one's own rights: to decide on the phone.
            Scope::StatusRead
            | Scope::MetricsRead
            | Scope::AuditRead
            | Scope::ConfigRead
            | Scope::LoginsWrite => true,
            Scope::TokensRead
            | Scope::TokensWrite
            | Scope::SecretsRead
            | Scope::SecretsWrite
            | Scope::ConfigWrite
            | Scope::BackupsCreate => false,
        },
        Role::Viewer => match scope {
            Scope::StatusRead | Scope::MetricsRead | Scope::AuditRead | Scope::ConfigRead => true,
            Scope::TokensRead
            | Scope::TokensWrite
            | Scope::SecretsRead
            | Scope::SecretsWrite
            | Scope::ConfigWrite
            | Scope::BackupsCreate
            | Scope::LoginsWrite => false,
        },
    }
}

/// Everything that `role` includes.
pub fn role_scopes(role: Role) -> ScopeSet {
    Scope::ALL.iter().copied().filter(|scope| role_allows(role, *scope)).collect()
}

#[cfg(test)]
mod tests;
