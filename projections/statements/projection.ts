import { type IssuerEvent, issuerStream } from '../../src/domain/issuer/events.ts'
import {
  type PeriodClosed,
  periodIdOf,
  type StatementEvent,
  statementStream,
} from '../../src/domain/statement/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { bigint, int, json, nullable, text, time } from '../engine/column.ts'
import { expectInOrder } from '../engine/passed-over.ts'
import { fromTables, rowsOf } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import type { Projection } from '../engine/types.ts'

type Recorded<T extends StatementEvent['type']> = RecordedEvent<
  Extract<StatementEvent, { readonly type: T }>
>
type KeyPublished = Extract<IssuerEvent, { readonly type: 'StatementKeyPublished' }>
type Person = NonNullable<PeriodClosed['by']>

/** A close without the rows of its statement, which a list does not read. */
export type PeriodFacts = Omit<PeriodClosed, 'sums' | 'refunds'>

/** A proposal to void a period; `by` is null for a shell. */
export interface VoidProposal {
  readonly by: Person | null
  readonly reason: string
  readonly proposedAt: string
  readonly expiresAt: string
}

/** How the last proposal ended; `by` is null for a shell. */
export interface VoidEnd {
  readonly by: Person | null
  readonly reason: string
  readonly endedAt: string
}

/** `void_proposed` as long as no event ends it: only its time says that it has lapsed. */
export type PeriodState = 'closed' | 'void_proposed' | 'voided'

const closed = ({ data, position }: Recorded<'PeriodClosed'>) => {
  const { sums, refunds, ...figures } = data
  const { tenantId, currency, month, n, statement } = data
  const names = { tenantId, periodId: periodIdOf(data), currency, month, n, statement }
  return { ...names, state: 'closed', closed: figures, sums, refunds, position } as const
}

const voidProposed = ({ data, position }: Recorded<'VoidProposed'>) => {
  const { tenantId, by = null, reason, proposedAt, expiresAt } = data
  const voidProposal: VoidProposal = { by, reason, proposedAt, expiresAt }
  const key = { tenantId, periodId: periodIdOf(data) }
  return { ...key, state: 'void_proposed', voidProposal, position } as const
}

const voided = ({ data, position }: Recorded<'PeriodVoided'>) => {
  const { tenantId, by, reason, voidedAt: endedAt } = data
  const voidEnd: VoidEnd = { by, reason, endedAt }
  return { tenantId, periodId: periodIdOf(data), state: 'voided', voidEnd, position } as const
}

const voidRejected = ({ data, position }: Recorded<'VoidRejected'>) => {
  const { tenantId, by = null, reason, rejectedAt: endedAt } = data
  const voidEnd: VoidEnd = { by, reason, endedAt }
  return { tenantId, periodId: periodIdOf(data), state: 'closed', voidEnd, position } as const
}

type Change = ReturnType<typeof voidProposed | typeof voided | typeof voidRejected>

export const periods = rowsOf<StatementEvent>()({
  table: table('statements.periods', {
    columns: {
      tenant_id: text(),
      /** `<currency>/<n>/<attempt>`. */
      period_id: text(),
      currency: text(),
      month: text(),
      n: int(),
      statement: text(),
      state: text<PeriodState>(),
      closed: json<PeriodFacts>(),
      sums: json<PeriodClosed['sums']>(),
      refunds: json<PeriodClosed['refunds']>(),
      /** The last one, whether or not it has ended. */
      void_proposal: nullable(json<VoidProposal>()),
      void_end: nullable(json<VoidEnd>()),
      position: bigint(),
    },
    key: ['tenant_id', 'period_id'],
    once: true,
    indexes: {
      tenant: '(tenant_id, currency, n)',
      month: '(month, tenant_id)',
      proposed: `(tenant_id) where state = 'void_proposed'`,
    },
  }),
  stream: statementStream,
  of: ({ data }) => periodIdOf(data),
  begins: 'PeriodClosed',
  sets: {
    PeriodClosed: closed,
    VoidProposed: voidProposed,
    PeriodVoided: voided,
    VoidRejected: voidRejected,
  },
})

const change = periods.table.merging('changed', ['state', 'void_proposal', 'void_end', 'position'])

const published = ({ data, position }: RecordedEvent<KeyPublished>) => ({ ...data, position })

export const keys = rowsOf<KeyPublished>()({
  table: table('statements.keys', {
    columns: { vkey: text(), published_at: time(), position: bigint() },
    key: ['vkey'],
    once: true,
  }),
  stream: () => issuerStream,
  of: ({ data }) => data.vkey,
  begins: 'StatementKeyPublished',
  sets: { StatementKeyPublished: published },
})

/** Closed months of tenants, and the public keys of their statements. */
export const statementsProjection: Projection = {
  name: 'statements',
  version: 1,
  ...fromTables(
    { periods: periods.table, keys: keys.table },
    {
      totals: `select state as name, count(*)::text as total from periods group by state
               union all select 'keys', count(*)::text from keys`,
    },
  ),
  streamTables: [periods.audit, keys.audit],
  handles: new Set([...periods.types, ...keys.types]),
  apply: async (client, batch) => {
    const rows: ReturnType<typeof closed>[] = []
    const added: ReturnType<typeof published>[] = []
    const changes = new Map<string, Change>()
    const changed = (next: Change): void => {
      const key = JSON.stringify([next.tenantId, next.periodId])
      changes.set(key, { ...changes.get(key), ...next })
    }
    for (const event of batch)
      if (event.type === 'PeriodClosed') {
        const row = closed(event)
        const key = JSON.stringify([row.tenantId, row.periodId])
        expectInOrder(!changes.has(key), `${row.periodId} was voided before it was closed`)
        rows.push(row)
      } else if (event.type === 'VoidProposed') changed(voidProposed(event))
      else if (event.type === 'PeriodVoided') changed(voided(event))
      else if (event.type === 'VoidRejected') changed(voidRejected(event))
      else if (event.type === 'StatementKeyPublished') added.push(published(event))
    await keys.table.insert(client, added)
    await periods.table.insert(client, rows)
    const found = await change(client, [...changes.values()])
    expectInOrder(found === changes.size, 'a period is voided that was never closed')
  },
}
