import {
  bigint,
  bytes,
  constrained,
  from,
  id,
  int,
  nullable,
  operational,
  pico,
  text,
  time,
  whole,
} from '../engine/column.ts'
import { audited } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import { lineColumns } from './line.ts'

/** Head of the hash chain over the lines, and the line up to which the sums by time have them: one row. */
export const chain = table('ledger.chain', {
  columns: {
    id: constrained(int(), 'check (id = 1)'),
    seq: bigint(),
    hash: bytes(),
    /** When the sums were last added to is no event's: a rebuild does so at other lines. */
    summed: operational(bigint()),
    /** The earliest time of the lines after that one; null without any. */
    unsummed_from: operational(nullable(time())),
  },
  key: ['id'],
  storage: 'fillfactor = 10',
  seed: `(1, 0, decode(repeat('00', 32), 'hex'), 0, null)`,
})

export const lines = table('ledger.lines', {
  columns: {
    /** 1, 2, 3, … in the order of the log. */
    seq: bigint(),
    ...lineColumns,
    /** SHA-256 of the previous line's hash and this line's canonical bytes (fold/chain.ts). */
    hash: bytes(),
  },
  key: ['seq'],
  indexes: {
    id: 'unique (line_id)',
    tenant: '(tenant_id, settled_at, seq)',
    sku: '(tenant_id, sku, settled_at, seq)',
    model: '(tenant_id, model, settled_at, seq)',
    currency: '(tenant_id, currency, settled_at, seq)',
    // A user is of one tenant; some tokens name users alone.
    user: '(user_id, settled_at, seq)',
    time: '(settled_at, seq)',
    position: '(position)',
    source: '(source_id)',
    request: '(request_id)',
  },
})

const amount = from('amountPico', pico())

/** One row per settled result, also for one without lines: a source cannot be settled twice. */
export const settlements = table('ledger.settlements', {
  columns: {
    source_id: text(),
    tenant_id: text(),
    currency: text(),
    amount,
    lines: int(),
    position: bigint(),
  },
  key: ['source_id'],
  indexes: { position: '(position)' },
})

/**
 * Double entry: each moves an amount from one account of a tenant to another, so every currency
 * sums to zero by construction.
 */
export const entries = table('ledger.entries', {
  columns: {
    position: bigint(),
    n: int(),
    kind: text(),
    source_id: text(),
    tenant_id: text(),
    currency: text(),
    debit: text(),
    credit: text(),
    amount: constrained(amount, 'check (amount > 0)'),
  },
  key: ['position', 'n'],
})

/** Both sides of each entry. */
export const postingsSql = `create view postings as
  select position, n, kind, source_id, tenant_id, currency, debit as account, amount from entries
  union all
  select position, n, kind, source_id, tenant_id, currency, credit, -amount from entries;`

/** Corrections of lines or grants; a line itself never changes. */
export const adjustments = table('ledger.adjustments', {
  columns: {
    position: bigint(),
    adjustment_id: id(),
    tenant_id: text(),
    currency: text(),
    /** Positive gives to the tenant. */
    amount,
    line_id: nullable(text()),
    grant_id: nullable(text()),
    /** Why it was made, as one of a few words for reports. */
    code: nullable(text()),
    reason: text(),
    actor: nullable(text()),
    posted_at: time(),
  },
  key: ['position'],
  constraints: ['check (num_nonnulls(line_id, grant_id) = 1)'],
  indexes: {
    line: '(line_id) where line_id is not null',
    tenant: '(tenant_id, position)',
    // Refunds of a period: of lines alone.
    posted: '(tenant_id, posted_at) where line_id is not null',
    id: '(adjustment_id)',
  },
})

export const holds = table('ledger.holds', {
  columns: {
    source_id: text(),
    tenant_id: text(),
    currency: text(),
    amount,
    state: constrained(text(), `check (state in ('placed', 'captured', 'released'))`),
    placed_at: time(),
    closed_at: nullable(time()),
    position: bigint(),
  },
  key: ['source_id'],
  once: true,
  storage: 'fillfactor = 80',
  indexes: { open: `(tenant_id) where state = 'placed'` },
})

export const balances = table('ledger.balances', {
  columns: {
    tenant_id: text(),
    currency: text(),
    granted: pico(),
    adjusted: pico(),
    /** The part of `adjusted` that corrects lines; the rest corrects grants. */
    refunded: pico(),
    /** Credit that ended unused; zero, because no event ends credit yet. */
    expired: pico(),
    credit_limit: from('limit', pico()),
    settled: pico(),
    held: pico(),
    position: bigint(),
  },
  key: ['tenant_id', 'currency'],
  storage: 'fillfactor = 50',
  onConflict: {
    granted: 'add',
    adjusted: 'add',
    refunded: 'add',
    expired: 'add',
    settled: 'add',
    held: 'add',
    position: 'replace',
  },
})

/** Sums over all tenants: a few rows, for monitoring that must not read the whole ledger. */
export const ledgerTotals = table('ledger.totals', {
  columns: {
    kind: constrained(text(), `check (kind in ('settled', 'estimated', 'held', 'account'))`),
    currency: text(),
    /** Surface of settled and of estimated lines, name of an account; '' of holds that are placed. */
    part: text(),
    n: whole(),
    amount,
  },
  key: ['kind', 'currency', 'part'],
  storage: 'fillfactor = 10',
  onConflict: { n: 'add', amount: 'add' },
})

/** Credit that was given, by whom, why and when. */
export const grants = table('ledger.grants', {
  columns: {
    position: bigint(),
    grant_id: id(),
    tenant_id: text(),
    currency: text(),
    amount,
    /** `paid` or `promotional`. */
    credit: text(),
    /** The invoice or payment outside that it stands for. */
    reference: nullable(text()),
    reason: text(),
    actor: nullable(text()),
    granted_at: time(),
  },
  key: ['position'],
  indexes: { tenant: '(tenant_id, position)', id: '(grant_id)' },
})

/**
 * The rows that an auditor compares with the log one by one; totals and sums by time are summed again.
 */
export const ledgerTables = audited({
  lines,
  settlements,
  entries,
  adjustments,
  grants,
  holds,
  balances,
  chain,
})
