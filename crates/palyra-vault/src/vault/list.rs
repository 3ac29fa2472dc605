//! What there is, without what it holds.

use palyra_storage::Tx;

use super::Vault;
use crate::VaultError;
use crate::name::SecretName;
use crate::store::secrets::{self, SecretPage};

/// The most secrets of one page.
pub const PAGE_LIMIT: u32 = 200;

impl Vault {
    /// Whether there is a secret of this name. Works without the key.
    pub async fn has(&self, name: &SecretName) -> Result<bool, VaultError> {
        let name = name.clone();
        let newest = self.0.db.read(move |tx| secrets::newest(tx, &name)).await?;
        Ok(newest.is_some())
    }

    /// Secrets after `after`: names, versions, when and by whom they were set. Never a value, so it
    /// works without the key.
    pub async fn list(
        &self,
        after: Option<SecretName>,
        limit: u32,
    ) -> Result<SecretPage, VaultError> {
        let limit = limit.clamp(1, PAGE_LIMIT);
        let page = move |tx: &mut Tx<'_>| secrets::page(tx, after.as_ref(), limit + 1);
        let mut secrets = self.0.db.read(page).await?;
        let more = secrets.len() > limit as usize;
        secrets.truncate(limit as usize);
        let last = secrets.last().map(|secret| secret.name.clone());
        Ok(SecretPage { secrets, next: last.filter(|_| more) })
    }
}
