import { searchForm } from '../../../src/kernel/characters.ts'
import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { type Expected } from '../../../src/app/audit/compare.ts'

/** Rows by their keys. */
export type ExpectedRows = ReadonlyMap<string, Expected>

/** The rows that a tenant's account events leave in the access read model. */
export function accountRows(events: Iterable<RecordedEvent>): {
  readonly tenants: ExpectedRows
  readonly users: ExpectedRows
} {
  const tenants = new Map<string, Expected>()
  const users = new Map<string, Expected>()
  for (const event of events) {
    const { position } = event
    if (event.type === 'TenantOpened') {
      const { tenantId, name, openedAt } = event.data
      tenants.set(tenantId, {
        tenant_id: tenantId,
        ...namedAs(name),
        opened_at: canonicalTime(openedAt),
        status: 'open',
        suspended_users: [],
        balance_thresholds: [],
        webhook_url: undefined,
        webhook_secret_version: 1,
        position,
      })
    } else if (event.type === 'BalanceAlertsSet') {
      const { tenantId, thresholds, webhookUrl, secretVersion } = event.data
      tenants.set(tenantId, {
        ...tenants.get(tenantId),
        balance_thresholds: thresholds,
        webhook_url: webhookUrl,
        webhook_secret_version: secretVersion,
      })
    } else if (event.type === 'TenantStatusSet') {
      const { tenantId, status, suspendedUsers } = event.data
      const row = tenants.get(tenantId)
      tenants.set(tenantId, { ...row, status, suspended_users: suspendedUsers })
    } else if (event.type === 'TenantNamed') {
      const { tenantId, name } = event.data
      tenants.set(tenantId, { ...tenants.get(tenantId), ...namedAs(name) })
    } else if (event.type === 'UserRenamed') {
      const { userId, name } = event.data
      users.set(userId, { ...users.get(userId), ...namedAs(name) })
    } else if (event.type === 'UserAdded') {
      const { tenantId, userId, name, addedAt } = event.data
      const row = { tenant_id: tenantId, user_id: userId, added_at: canonicalTime(addedAt) }
      users.set(userId, { ...row, ...namedAs(name), position })
    }
  }
  return { tenants, users }
}

/** The rows that a tenant's proposals leave. */
export function proposalRows(events: readonly RecordedEvent[]): ExpectedRows {
  const rows = new Map<string, Expected>()
  for (const event of events) {
    const { position } = event
    if (event.type === 'PostingProposed') {
      const { tenantId, proposalId, posting, by, proposedAt, expiresAt } = event.data
      rows.set(proposalId, {
        tenant_id: tenantId,
        proposal_id: proposalId,
        posting,
        proposed_by: by,
        state: 'proposed',
        proposed_at: canonicalTime(proposedAt),
        expires_at: canonicalTime(expiresAt),
        ended_at: undefined,
        ended_by: undefined,
        reason: undefined,
        position,
      })
    } else if (event.type === 'PostingApproved') {
      const { proposalId, by, approvedAt } = event.data
      const end = { state: 'approved', ended_at: canonicalTime(approvedAt), ended_by: by }
      rows.set(proposalId, { ...rows.get(proposalId), ...end, position })
    } else if (event.type === 'PostingRejected') {
      const { proposalId, by, rejectedAt, reason } = event.data
      const end = { state: 'rejected', ended_at: canonicalTime(rejectedAt), ended_by: by }
      rows.set(proposalId, { ...rows.get(proposalId), ...end, reason, position })
    }
  }
  return rows
}

/** The rows of an account's events: of each setting that which set it last, of the others all. */
export function accountEventRows(events: readonly RecordedEvent[]): ExpectedRows {
  const settings = [
    'AccountPricesSet',
    'BalanceAlertsSet',
    'BillingProfileSet',
    'BudgetsSet',
    'LimitsSet',
    'ReportingSet',
    'ApprovalsSet',
    'TenantStatusSet',
    'TenantNamed',
  ]
  const rows = events.flatMap(({ type, data, stream, revision, position }) => {
    if (!stream.startsWith('account-')) return []
    const slot = settings.includes(type) ? type : `${type} ${revision}`
    const tenantId = stream.slice('account-'.length)
    return [[slot, { tenant_id: tenantId, slot, revision, type, data, position }] as const]
  })
  return new Map(rows)
}

/** The rows that a token's events leave in the access read model. */
export function tokenRows(events: Iterable<RecordedEvent>): {
  readonly token: Expected | undefined
  readonly secrets: ExpectedRows
} {
  let token: Expected | undefined
  let secrets: readonly { readonly hash: string; readonly until: number | undefined }[] = []
  for (const event of events) {
    const { position } = event
    if (event.type === 'TokenIssued') {
      token = issued(event)
      secrets = [{ hash: event.data.secretHash, until: undefined }]
    } else if (event.type === 'TokenRotated') {
      const { lastFour, rotatedAt, oldValidUntil, secretHash } = event.data
      token = { ...token, last_four: lastFour, rotated_at: canonicalTime(rotatedAt), position }
      const end = Date.parse(oldValidUntil)
      // A secret that was already being phased out keeps its earlier end.
      const phasedOut = secrets.map(({ hash, until }) => ({
        hash,
        until: Math.min(until ?? end, end),
      }))
      secrets = [...phasedOut, { hash: secretHash, until: undefined }]
    } else if (event.type === 'TokenLimitsChanged') {
      token = { ...token, limits: event.data.limits, position }
    } else if (event.type === 'TokenUpdated') {
      const { name, models, addresses, expiresAt } = event.data
      const ends = expiresAt === undefined ? null : canonicalTime(expiresAt)
      token = { ...token, ...namedAs(name), models, addresses, expires_at: ends, position }
    } else if (event.type === 'TokenDisabled') {
      const { disabledAt, reason } = event.data
      token = {
        ...token,
        disabled_at: canonicalTime(disabledAt),
        disabled_reason: reason,
        position,
      }
    }
  }
  const rows = secrets.map(({ hash, until }) => {
    const row = {
      secret_hash: hash,
      token_id: token?.['token_id'],
      valid_until: until === undefined ? null : canonicalTime(until),
    }
    return [hash, row] as const
  })
  return { token, secrets: new Map(rows) }
}

/** A name, and as searches compare it. */
const namedAs = (name: string) => ({ name, search_name: searchForm(name) })

function issued({ data, position }: Extract<RecordedEvent, { type: 'TokenIssued' }>): Expected {
  return {
    token_id: data.tokenId,
    tenant_id: data.tenantId,
    user_id: data.userId,
    kind: data.kind,
    ...namedAs(data.name),
    scope: data.scope,
    role: data.role ?? null,
    subject: data.subject ?? null,
    claim: data.claim ?? null,
    models: data.models,
    addresses: data.addresses,
    limits: data.limits,
    expires_at: data.expiresAt === undefined ? null : canonicalTime(data.expiresAt),
    issued_by: data.issuedBy ?? null,
    issued_at: canonicalTime(data.issuedAt),
    rotated_at: null,
    last_four: data.lastFour,
    disabled_at: null,
    disabled_reason: null,
    position,
  }
}
