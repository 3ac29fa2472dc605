//! The API, call by call.

use std::time::Duration;

use palyra_common::api::{
    AuditEvent, AuditVerified, BackupMaking, ConfigChange, ConfigChanged, ConfigView, CreatedToken,
    Doctor, Health, Login, LoginCode, MasterRotated, Member, NewLoginCode, NewMember, NewToken,
    Page, Readiness, RotateMaster, Secret, SecretStored, SecretValue, Status, Texts, Token, WhoAmI,
};
use palyra_common::{BackupId, LoginId, Principal, Timestamp, TokenId};
use reqwest::header::{ETAG, IF_MATCH};
use reqwest::{Method, StatusCode};

use crate::client::{ANSWER_TIMEOUT, Client, STATUS_TIMEOUT};
use crate::download::Download;
use crate::error::ClientError;

/// A whole audit trail is read, and every secret is locked anew.
pub(crate) const LONG_WORK: Duration = Duration::from_mins(10);

/// Which entries come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest.
    #[default]
    NewestFirst,
    /// The oldest.
    OldestFirst,
}

impl Order {
    fn as_str(self) -> &'static str {
        match self {
            Self::NewestFirst => "newest_first",
            Self::OldestFirst => "oldest_first",
        }
    }
}

/// Which entries of the audit trail are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// The `next` of the page before.
    pub after: Option<String>,
    /// How many at most; without this, as many as the daemon gives at once.
    pub limit: Option<u32>,
    /// Which come first.
    pub order: Order,
    /// Only what this one did.
    pub actor: Option<String>,
    /// Only this action, or with a final dot all that begin so: `token.`.
    pub action: Option<String>,
    /// Only what was done to this.
    pub subject: Option<String>,
    /// Only from here on.
    pub since: Option<Timestamp>,
    /// Only before this.
    pub until: Option<Timestamp>,
}

impl EventQuery {
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let millis = |at: Timestamp| at.as_unix_millis().to_string();
        let all = [
            ("after", self.after.clone()),
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("order", Some(self.order.as_str().into())),
            ("actor", self.actor.clone()),
            ("action", self.action.clone()),
            ("subject", self.subject.clone()),
            ("since", self.since.map(millis)),
            ("until", self.until.map(millis)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl Client {
    /// Whether the process runs.
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.json(self.request(Method::GET, &["healthz"])).await
    }

    /// Whether work can be taken.
    pub async fn readiness(&self) -> Result<Readiness, ClientError> {
        let request = self.request(Method::GET, &["readyz"]).timeout(ANSWER_TIMEOUT);
        let response = self.send(request).await?;
        match response.status() {
            StatusCode::OK | StatusCode::SERVICE_UNAVAILABLE => self.decode(response).await,
            other => Err(self.unexpected(format!("status {other}"))),
        }
    }

    /// How the daemon is.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.json_within(STATUS_TIMEOUT, self.admin(Method::GET, &["status"])).await
    }

    /// The checks that the daemon makes of itself.
    pub async fn doctor(&self) -> Result<Doctor, ClientError> {
        self.json(self.admin(Method::GET, &["doctor"])).await
    }

    /// As whom the daemon sees this client.
    pub async fn whoami(&self) -> Result<WhoAmI, ClientError> {
        self.json(self.admin(Method::GET, &["whoami"])).await
    }

    /// A page of the audit trail. It may be short and yet not the last: go on while there is `next`.
    pub async fn events(&self, query: &EventQuery) -> Result<Page<AuditEvent>, ClientError> {
        let path = ["admin", "v1", "events"];
        self.json(self.request_with(Method::GET, &path, &query.pairs())).await
    }

    /// Checks the whole audit trail.
    pub async fn verify_events(&self) -> Result<AuditVerified, ClientError> {
        let request = self.admin(Method::POST, &["events", "verify"]);
        self.decode(self.accepted(self.patient(request, LONG_WORK)?).await?).await
    }

    /// A page of API tokens; `after` is the `next` of the page before.
    pub async fn tokens(&self, after: Option<String>) -> Result<Page<Token>, ClientError> {
        let query: Vec<_> = after.map(|after| ("after", after)).into_iter().collect();
        let path = ["admin", "v1", "tokens"];
        self.json(self.request_with(Method::GET, &path, &query)).await
    }

    /// Makes an API token, and has its secret. It is asked for once, and so without a key.
    pub async fn create_token(&self, new: &NewToken) -> Result<CreatedToken, ClientError> {
        let request = self.with_json(self.admin(Method::POST, &["tokens"]), new)?;
        let created: CreatedToken = self.json(request).await?;
        match created.secret {
            Some(_) => Ok(created),
            None => Err(self.unexpected("a token without its secret")),
        }
    }

    /// Revokes an API token; again does no harm.
    pub async fn revoke_token(&self, id: TokenId) -> Result<Token, ClientError> {
        self.json(self.admin(Method::DELETE, &["tokens", &id.to_string()])).await
    }

    /// A page of names of secrets; `after` is the `next` of the page before.
    pub async fn secrets(&self, after: Option<String>) -> Result<Page<Secret>, ClientError> {
        let query: Vec<_> = after.map(|after| ("after", after)).into_iter().collect();
        let path = ["admin", "v1", "secrets"];
        self.json(self.request_with(Method::GET, &path, &query)).await
    }

    /// Stores a secret, as a new version if it is there already.
    pub async fn set_secret(
        &self,
        scope: &str,
        name: &str,
        value: &SecretValue,
    ) -> Result<SecretStored, ClientError> {
        let request = self.admin(Method::PUT, &["secrets", scope, name]);
        self.json(self.with_json(request, value)?).await
    }

    /// Deletes a secret with all its versions.
    pub async fn delete_secret(&self, scope: &str, name: &str) -> Result<(), ClientError> {
        let request = self.admin(Method::DELETE, &["secrets", scope, name]);
        self.accepted(request.timeout(ANSWER_TIMEOUT)).await.map(drop)
    }

    /// The texts without the values of secrets.
    pub async fn redact(&self, texts: &Texts) -> Result<Texts, ClientError> {
        let request = self.admin(Method::POST, &["redact"]);
        self.json(self.with_json(request, texts)?).await
    }

    /// Changes the master key.
    pub async fn rotate_master(&self, rotate: &RotateMaster) -> Result<MasterRotated, ClientError> {
        let request = self.admin(Method::POST, &["secrets", "rotate-master"]);
        let request = self.patient(self.with_json(request, rotate)?, LONG_WORK)?;
        let response = self.accepted(request).await?;
        self.decode(response).await
    }

    /// The configuration in force, with the tag that a change of just this one gives back.
    pub async fn config(&self) -> Result<(ConfigView, Option<String>), ClientError> {
        let request = self.admin(Method::GET, &["config"]).timeout(ANSWER_TIMEOUT);
        let response = self.accepted(request).await?;
        let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        Ok((self.decode(response).await?, tag))
    }

    /// Changes the configuration, with a `tag` only if it is still the one that was seen.
    pub async fn change_config(
        &self,
        change: &ConfigChange,
        tag: Option<&str>,
    ) -> Result<ConfigChanged, ClientError> {
        let request = self.admin(Method::PATCH, &["config"]);
        let request = match tag {
            Some(tag) => request.header(IF_MATCH, tag),
            None => request,
        };
        self.json(self.with_json(request, change)?).await
    }

    /// A backup, made while it is read. If it fails the stream ends with an error.
    pub async fn backup(&self) -> Result<Download, ClientError> {
        let response = self.accepted(self.admin(Method::POST, &["backups"])).await?;
        Ok(Download::of_backup(self.clone(), response))
    }

    /// What became of a backup, if it is the last one that the daemon was asked for.
    pub async fn backup_making(&self, id: BackupId) -> Result<BackupMaking, ClientError> {
        self.json(self.admin(Method::GET, &["backups", &id.to_string()])).await
    }

    /// A link with which a browser logs in once.
    pub async fn login_code(&self, new: &NewLoginCode) -> Result<LoginCode, ClientError> {
        let request = self.with_json(self.admin(Method::POST, &["login-codes"]), new)?;
        let code: LoginCode = self.json(request).await?;
        match code.link {
            Some(_) => Ok(code),
            None => Err(self.unexpected("a login code without its link")),
        }
    }

    /// A page of logins; `after` is the `next` of the page before.
    pub async fn logins(&self, after: Option<String>) -> Result<Page<Login>, ClientError> {
        let query: Vec<_> = after.map(|after| ("after", after)).into_iter().collect();
        let path = ["admin", "v1", "logins"];
        self.json(self.request_with(Method::GET, &path, &query)).await
    }

    /// Ends a login; again does no harm.
    pub async fn end_login(&self, id: LoginId) -> Result<Login, ClientError> {
        self.json(self.admin(Method::DELETE, &["logins", &id.to_string()])).await
    }

    /// A page of those who have a role; `after` is the `next` of the page before.
    pub async fn principals(&self, after: Option<String>) -> Result<Page<Member>, ClientError> {
        let query: Vec<_> = after.map(|after| ("after", after)).into_iter().collect();
        let path = ["admin", "v1", "principals"];
        self.json(self.request_with(Method::GET, &path, &query)).await
    }

    /// Gives somebody a role.
    pub async fn add_principal(&self, new: &NewMember) -> Result<Member, ClientError> {
        self.json(self.with_json(self.admin(Method::POST, &["principals"]), new)?).await
    }

    /// Takes somebody's role for good; again does no harm.
    pub async fn disable_principal(&self, who: &Principal) -> Result<Member, ClientError> {
        self.json(self.admin(Method::DELETE, &["principals", who.as_str()])).await
    }

    pub(crate) fn admin(&self, method: Method, below: &[&str]) -> reqwest::RequestBuilder {
        let path: Vec<_> = ["admin", "v1"].iter().chain(below).copied().collect();
        self.request(method, &path)
    }
}
