import type { Queryable } from '../../../projections/engine/queryable.ts'
import { journalStream } from '../../domain/call/events.ts'
import { currentSchemaVersion } from '../../eventlog/log/codec.ts'
import type { EventLog, NewEvent } from '../../eventlog/log/types.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { eventId } from '../../kernel/ids.ts'
import { type Currency, formatAmount, parseAmount } from '../../kernel/money.ts'
import { isFreshSql, SILENT_REPLICA_MS } from './replica-reports.ts'

/**
 * Settlements that wait in the spool of a replica which reports no longer. They count against the
 * balance until the spool is drained; if no process opens it, they are given up with an event.
 */

/** A spool that no process opens for this long counts as lost, with the settlements in it. */
const LOST_SPOOL_AFTER_MS = 7 * 86_400_000
const SWEEP_LIMIT = 500

/** A settlement without a position may wait in the spool. Names of budgets have more than one line. */
const WAITING_SQL = String.raw`spool is not null and settled > 0 and position is null
  and tenant_id not like E'%\n%'`

/** Settlements of a currency in silent spools, as their replicas last reported. */
export interface SilentSpools {
  readonly currency: Currency
  readonly spools: number
  /** Decimal string. */
  readonly amount: string
  /** Since the first of them was last reported. */
  readonly oldestSeconds: number
}

/** Settlements that wait in spools of replicas that have stopped reporting. */
export async function readSilentSpools(db: Queryable): Promise<readonly SilentSpools[]> {
  const { rows } = await db.query<{
    currency: Currency
    spools: string
    amount: string
    age: number
  }>(
    `select currency, count(distinct spool) as spools, trim_scale(sum(settled))::text as amount,
            max(extract(epoch from clock_timestamp() - told_at))::float8 as age
     from ops.text_spending where ${WAITING_SQL} and not (${isFreshSql('told_at', '$1')})
     group by currency`,
    [SILENT_REPLICA_MS],
  )
  return rows.map(({ currency, spools, amount, age }) => {
    return { currency, spools: Number(spools), amount, oldestSeconds: Math.max(0, age) }
  })
}

/** Settlements of one account that wait in spools, of silent replicas and of those that report. */
export interface WaitingSpools {
  readonly tenantId: string
  readonly currency: Currency
  readonly spools: number
  /** Decimal string. */
  readonly amount: string
}

/** Settlements that wait in spools, by account; of all tenants without a list of them. */
export async function readWaitingSpools(
  db: Queryable,
  tenantIds: readonly string[] | undefined,
): Promise<readonly WaitingSpools[]> {
  const { rows } = await db.query<Omit<WaitingSpools, 'spools'> & { readonly spools: string }>(
    `select tenant_id as "tenantId", currency, count(distinct spool) as spools,
            trim_scale(sum(settled))::text as amount
     from ops.text_spending where ${WAITING_SQL} and ($1::text[] is null or tenant_id = any($1))
     group by tenant_id, currency`,
    [tenantIds ?? null],
  )
  return rows.map(({ spools, ...row }) => ({ ...row, spools: Number(spools) }))
}

interface LostReport {
  readonly tenant_id: string
  readonly currency: Currency
  readonly replica: string
  readonly turn: string
  readonly settled: string
  readonly spool: string | null
  readonly is_waiting: boolean
  readonly reported_at: Date
  readonly now: Date
}

/**
 * Deletes reports that are a week old, a bounded number at a time: each amount that waited in a
 * spool first becomes an event of its tenant. If a process dies in between, the event is the same
 * one.
 *
 * @throws while the log is unavailable
 */
export async function giveUpLostSpools(
  db: Queryable,
  log: Pick<EventLog, 'append'>,
): Promise<readonly NewEvent[]> {
  const { rows } = await db.query<LostReport>({
    name: 'spending-lost',
    text: `select tenant_id, currency, replica, turn, settled::text, spool, ${WAITING_SQL} as is_waiting,
                  told_at as reported_at, clock_timestamp() as now
           from ops.text_spending where not (${isFreshSql('told_at', '$1')})
           order by told_at limit $2`,
    values: [LOST_SPOOL_AFTER_MS, SWEEP_LIMIT],
  })
  const given: NewEvent[] = []
  for (const row of rows) {
    if (row.is_waiting) given.push(await appendGivenUp(log, row))
    await db.query(
      `delete from ops.text_spending
       where tenant_id = $1 and currency = $2 and replica = $3 and turn = $4`,
      [row.tenant_id, row.currency, row.replica, row.turn],
    )
  }
  return given
}

async function appendGivenUp(log: Pick<EventLog, 'append'>, row: LostReport): Promise<NewEvent> {
  const { tenant_id: tenantId, currency, replica, turn, spool } = row
  const commandId = `give-up-spool:${replica}:${turn}`
  const id = eventId(`${tenantId}\n${currency}`, commandId, 0)
  const event: NewEvent = {
    type: 'SpoolGivenUp',
    data: {
      tenantId,
      currency,
      amount: formatAmount(parseAmount(row.settled)),
      spool: spool ?? '',
      replica,
      reportedAt: row.reported_at.toISOString(),
      givenUpAt: row.now.toISOString(),
    },
    id,
    metadata: {
      schemaVersion: currentSchemaVersion('SpoolGivenUp'),
      correlationId: commandId,
      commandId,
      tenantId,
    },
  }
  try {
    await log.append(journalStream(id, 0), [event], 'no_stream')
  } catch (error) {
    // A process that died before it deleted the report appended it.
    if (!isDomainError(error, 'wrong_expected_revision')) throw error
  }
  return event
}
