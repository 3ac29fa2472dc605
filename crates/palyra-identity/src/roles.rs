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
            | Scope::LoginsRead
            | Scope::LoginsWrite
            | Scope::PrincipalsRead
            | Scope::PrincipalsWrite
            | Scope::ChannelsRead
            | Scope::ChannelsWrite
            | Scope::MessagesRead
            | Scope::MessagesSend
            | Scope::AgentsRead
            | Scope::AgentsWrite
            | Scope::SessionsRead
            | Scope::SessionsWrite
            | Scope::ApprovalsRead
            | Scope::ApprovalsDecide
            | Scope::ModelsUse
            | Scope::ChatUse => true,
        },
        Role::Operator => operator_allows(scope),
        Role::Approver => approver_allows(scope),
        Role::Viewer => viewer_allows(scope),
    }
}

const fn operator_allows(scope: Scope) -> bool {
    match scope {
        Scope::StatusRead
        | Scope::MetricsRead
        | Scope::AuditRead
        | Scope::TokensRead
        | Scope::TokensWrite
        | Scope::SecretsRead
        | Scope::SecretsWrite
        | Scope::ConfigRead
        | Scope::ConfigWrite
        | Scope::LoginsRead
        | Scope::LoginsWrite
        | Scope::PrincipalsRead
        | Scope::ChannelsRead
        | Scope::ChannelsWrite
        | Scope::MessagesRead
        | Scope::MessagesSend
        | Scope::AgentsRead
        | Scope::AgentsWrite
        | Scope::SessionsRead
        | Scope::SessionsWrite
        | Scope::ApprovalsRead
        | Scope::ApprovalsDecide
        | Scope::ModelsUse
        | Scope::ChatUse => true,
        // A backup holds what belongs to others, the owner included; and who else there is
        // the owner decides.
        Scope::BackupsCreate | Scope::PrincipalsWrite => false,
    }
}

const fn approver_allows(scope: Scope) -> bool {
    match scope {
        // A login code hands on no more than one's own rights: to decide on the phone.
        Scope::StatusRead
        | Scope::MetricsRead
        | Scope::AuditRead
        | Scope::ConfigRead
        | Scope::LoginsRead
        | Scope::LoginsWrite
        | Scope::ChannelsRead
        | Scope::MessagesRead
        | Scope::AgentsRead
        | Scope::SessionsRead
        | Scope::ApprovalsRead
        | Scope::ApprovalsDecide => true,
        Scope::TokensRead
        | Scope::TokensWrite
        | Scope::SecretsRead
        | Scope::SecretsWrite
        | Scope::ConfigWrite
        | Scope::BackupsCreate
        | Scope::PrincipalsRead
        | Scope::PrincipalsWrite
        | Scope::ChannelsWrite
        | Scope::MessagesSend
        | Scope::AgentsWrite
        | Scope::SessionsWrite
        | Scope::ModelsUse
        | Scope::ChatUse => false,
    }
}

const fn viewer_allows(scope: Scope) -> bool {
    match scope {
        Scope::StatusRead
        | Scope::MetricsRead
        | Scope::AuditRead
        | Scope::ConfigRead
        | Scope::ChannelsRead
        | Scope::AgentsRead => true,
        Scope::TokensRead
        | Scope::TokensWrite
        | Scope::SecretsRead
        | Scope::SecretsWrite
        | Scope::ConfigWrite
        | Scope::BackupsCreate
        | Scope::LoginsRead
        | Scope::LoginsWrite
        | Scope::PrincipalsRead
        | Scope::PrincipalsWrite
        | Scope::ChannelsWrite
        | Scope::MessagesRead
        | Scope::MessagesSend
        | Scope::AgentsWrite
        | Scope::SessionsRead
        | Scope::SessionsWrite
        | Scope::ApprovalsRead
        | Scope::ApprovalsDecide
        | Scope::ModelsUse
        | Scope::ChatUse => false,
    }
}

/// Everything that `role` includes.
pub fn role_scopes(role: Role) -> ScopeSet {
    Scope::ALL.iter().copied().filter(|scope| role_allows(role, *scope)).collect()
}

#[cfg(test)]
mod tests;
