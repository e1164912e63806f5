import type { AnyEventType } from '../../src/domain/any-event.ts'
import { bigint, document, id, nullable, text, timeOfMs, uuid } from '../engine/column.ts'
import { audited } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'

/** Events that a request caused; events of policies and commands name no request. */
export const byRequestSql = `metadata->>'correlationId' like 'req\\_%'`

/** Events of calls: these have no row in `sources`. */
export const ofCallSql = `source_id like 'call\\_%'`

/** The events of one request, in the form in which its index has the ids: in the order of their bytes. */
export const ofRequestSql = (at: string): string =>
  `metadata->>'correlationId' = ${at}::text collate "C"`

/**
 * Events that leave a request without a result, or with an unknown one. Support lists them, so they
 * have indexes of their own: a request that succeeds has no entry in these.
 */
export const failureTypes = [
  'CallFailed',
  'TaskFailed',
  'TaskSubmissionRefused',
  'TaskSubmissionUncertain',
  'TaskExpired',
] as const satisfies readonly AnyEventType[]

/**
 * Events that change a tenant, its users, tokens, settings, credit or months, by a person or a command. They are few
 * among those of calls, so their lists have indexes of their own.
 */
export const changeTypes = [
  'TenantOpened',
  'TenantNamed',
  'TenantStatusSet',
  'UserAdded',
  'UserRenamed',
  'CreditGranted',
  'CreditLimitSet',
  'AdjustmentPosted',
  'PostingProposed',
  'PostingApproved',
  'PostingRejected',
  'AccountPricesSet',
  'ApprovalsSet',
  'BudgetsSet',
  'LimitsSet',
  'ReportingSet',
  'BillingProfileSet',
  'BalanceAlertsSet',
  'TokenIssued',
  'TokenRotated',
  'TokenLimitsChanged',
  'TokenUpdated',
  'TokenDisabled',
  'PeriodClosed',
  'VoidProposed',
  'PeriodVoided',
  'VoidRejected',
] as const satisfies readonly AnyEventType[]
export type ChangeType = (typeof changeTypes)[number]

/** The condition of these types, in the form in which the planner recognises it. */
export const typesSql = (types: readonly string[]): string =>
  `type = any ('{${types.join(',')}}'::text[])`

/** Notes of support about lives: they are few, and found by their words. */
export const isNoteSql = typesSql(['NotePosted'])

/** One of so many events is in the index of samples, by chance: the lists of a day need not count all of them. */
export const SAMPLED_ONE_OF = 16

/** The condition of sampled events, in the form in which the planner recognises it. */
export const isSampledSql = (position: string): string =>
  `(hashint8(${position}) & ${SAMPLED_ONE_OF - 1}) = 0`

const isFailureSql = typesSql(failureTypes)
export const isChangeSql = typesSql(changeTypes)

/**
 * Owner of a task or a token, because not every later event names it. Events of calls do, so calls
 * have no row.
 */
export const sources = table('timeline.sources', {
  columns: {
    source_id: id(),
    tenant_id: text(),
    user_id: nullable(text()),
    native_id: nullable(id()),
    position: bigint(),
  },
  key: ['source_id'],
  storage: 'fillfactor = 80',
  indexes: {
    native: '(native_id) where native_id is not null',
    // A tenant's search by the beginning of an id passes over no rows of other tenants.
    owner: '(tenant_id, source_id)',
    owner_native: '(tenant_id, native_id) where native_id is not null',
    position: '(position)',
  },
  onConflict: { native_id: 'fill' },
})

export const events = table('timeline.events', {
  columns: {
    position: bigint(),
    tenant_id: text(),
    user_id: nullable(text()),
    /** Platform id, call id or token id; null for events of the account itself. */
    source_id: nullable(id()),
    type: text(),
    event_id: uuid(),
    stream: text(),
    revision: bigint(),
    /** Time at which the log recorded it. */
    at: timeOfMs(),
    /**
     * Stored as text: they are read whole, and parsing them to store them costs as much as
     * everything else.
     */
    data: document(),
    metadata: document(),
    /** Keyed hash of the `Idempotency-Key` of the request, where it had one. */
    key_hash: nullable(text()),
  },
  key: ['position'],
  indexes: {
    source: '(source_id, position) where source_id is not null',
    tenant: '(tenant_id, position)',
    time: '(tenant_id, at, position)',
    request: `((metadata->>'correlationId') collate "C") where ${byRequestSql}`,
    owner_call: `(tenant_id, source_id) where ${ofCallSql}`,
    owner_request: `(tenant_id, (metadata->>'correlationId') collate "C") where ${byRequestSql}`,
    // Tenants choose the same keys.
    key: '(key_hash, tenant_id) where key_hash is not null',
    failures: `(tenant_id, at, position) where ${isFailureSql}`,
    failures_time: `(at, position) where ${isFailureSql}`,
    changes: `(tenant_id, at, position) where ${isChangeSql}`,
    changes_time: `(at, position) where ${isChangeSql}`,
    changes_by: `((metadata->>'actor') collate "C", at, position) where ${isChangeSql}`,
    sampled: `(tenant_id, at, position) where ${isSampledSql('position')}`,
    sampled_time: `(at, position) where ${isSampledSql('position')}`,
    notes: `(tenant_id, position) where ${isNoteSql}`,
    // The change of a kind before another one.
    changes_kind: `(tenant_id, type, position) where ${isChangeSql}`,
  },
})

/** The rows that an auditor compares with the log. */
export const timelineTables = audited({ events, sources })
