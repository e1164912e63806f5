import { type Static, Type } from 'typebox'
import type { BoardRow, ListedPeriod } from '../../../app/finance/statements/types.ts'
import { BlockerSchema } from '../routes/account-surface.ts'

/** Months of accounts as the API shows them. */

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const countOrNull = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description })
const amount = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description, examples: ['-2502.855'] })

export const PeriodSchema = Type.Object(
  {
    month: Type.String({ description: 'Of the time zone of the tenant.', examples: ['2026-11'] }),
    tenant_id: Type.String(),
    currency: Type.String(),
    status: Type.Enum(['closed', 'open'], {
      description: 'An open month has blockers, and null for everything below.',
    }),
    statement: orNull('The number of the statement.'),
    from: orNull('The first instant of the month, RFC 3339 with the offset of the zone.'),
    to: orNull('The first instant that is not in it.'),
    time_zone: orNull('The zone of the month.'),
    position: orNull('Log position up to which postings are in the month.'),
    closed_at: orNull('RFC 3339.'),
    postings: countOrNull('Lines, grants, adjustments and expiries.'),
    late: countOrNull(
      'Postings dated before `from`, known only after the month before was closed.',
    ),
    opening: amount('The balance before: the closing one of the month before.'),
    granted_paid: amount('Credit that was bought. Each figure is signed as the balance sees it.'),
    granted_promotional: amount('Credit that was given.'),
    adjusted_usage: amount('Refunds of lines.'),
    adjusted_grants: amount('Corrections of grants.'),
    expired: amount('Credit that has ended.'),
    settled: amount('Usage: not above zero.'),
    closing: amount('The balance after: the opening one and all figures.'),
    root: orNull('Root of the tree of all postings, base64.'),
    despite: Type.Union(
      [Type.Object({ codes: Type.Array(Type.String()), reason: Type.String() }), Type.Null()],
      { description: 'The blockers of the audit that were passed, and why.' },
    ),
    void_proposed: Type.Boolean({
      description: 'Whether it is proposed to void the statement; the proposal may have lapsed.',
    }),
    blockers: Type.Array(BlockerSchema, {
      description: 'Why the month cannot be closed now; empty for a closed month.',
    }),
  },
  { named: 'Period' },
)
export type ShownPeriod = Static<typeof PeriodSchema>

export const periodColumns = Object.keys(PeriodSchema.properties) as readonly (keyof ShownPeriod)[]

type Figures = Omit<
  ShownPeriod,
  'month' | 'tenant_id' | 'currency' | 'status' | 'void_proposed' | 'blockers'
>

/** An open month has no figures: they would cost a query for each account. */
const noFigures: Figures = {
  statement: null,
  from: null,
  to: null,
  time_zone: null,
  position: null,
  closed_at: null,
  postings: null,
  late: null,
  opening: null,
  granted_paid: null,
  granted_promotional: null,
  adjusted_usage: null,
  adjusted_grants: null,
  expired: null,
  settled: null,
  closing: null,
  root: null,
  despite: null,
}

function figuresOf(period: ListedPeriod): Figures {
  const { statement, from, to, timeZone, position, closedAt, postings, late, root } = period
  const { opening, granted, adjusted, expired, settled, closing, despite } = period
  return {
    statement,
    from,
    to,
    time_zone: timeZone,
    position,
    closed_at: closedAt,
    postings,
    late,
    opening,
    granted_paid: granted.paid,
    granted_promotional: granted.promotional,
    adjusted_usage: adjusted.usage,
    adjusted_grants: adjusted.grants,
    expired,
    settled,
    closing,
    root,
    despite: despite ? { codes: [...despite.codes], reason: despite.reason } : null,
  }
}

/** A month as the API shows it. */
export function toPeriod(row: BoardRow): ShownPeriod {
  const { month, tenantId, currency, status } = row
  const isClosed = row.status === 'closed'
  return {
    month,
    tenant_id: tenantId,
    currency,
    status,
    ...(isClosed ? figuresOf(row.period) : noFigures),
    void_proposed: isClosed && row.isVoidProposed,
    blockers: isClosed ? [] : [...row.blockers],
  }
}

/** A month that was closed just now, or before. */
export function toClosedPeriod(period: ListedPeriod): ShownPeriod {
  return toPeriod({ ...period, status: 'closed', period, isVoidProposed: false })
}
