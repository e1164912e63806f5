import type { Queryable } from '../engine/queryable.ts'
import { failureTypes, typesSql } from './tables.ts'

/** How many requests were answered and failed, and how long the answered ones took, by groups. */

/** Answered requests that are read at about the most: of more, one of every few is read. */
const READ_AT_MOST = 10_000

export const speedGroups = ['model', 'surface', 'channel', 'hour', 'day'] as const
export type SpeedGroup = (typeof speedGroups)[number]

/** An absent member does not filter. */
export interface SpeedFilter {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
  readonly model: string | undefined
  readonly surface: string | undefined
  readonly channelId: string | undefined
  /** Time of recording of the end: unix milliseconds, inclusive. */
  readonly fromMs: number
  /** Unix milliseconds, exclusive. */
  readonly toMs: number
  /** Position of the log after which nothing counts. */
  readonly asOf: bigint
}

/** The requests of a group. */
export interface Speed {
  /** A name, or the beginning of an hour or a day as unix milliseconds; undefined: of all groups. */
  readonly key: string | undefined
  /** Estimated where only one of every few was read. */
  readonly answered: number
  readonly failed: number
  /** Milliseconds from the request to its answer; undefined: none was answered. */
  readonly medianMs: number | undefined
  readonly p95Ms: number | undefined
  /** Milliseconds from the request to the first byte of an answered stream; undefined: none is known. */
  readonly firstByteMedianMs: number | undefined
  readonly firstByteP95Ms: number | undefined
}

/** An uncertain submission has not ended. */
const failedTypes = failureTypes.filter((type) => type !== 'TaskSubmissionUncertain')

/** The tenants of the timeline, each found by one step in an index: no index is of times alone. */
export const ownersSql = `owners (tenant_id) as (
  (select tenant_id from timeline.events order by tenant_id limit 1)
  union all
  select (select n.tenant_id from timeline.events n where n.tenant_id > o.tenant_id
          order by n.tenant_id limit 1)
  from owners o where o.tenant_id is not null)`

export const oneOwnerSql = (at: string): string => `owners (tenant_id) as (select ${at}::text)`

class Statement {
  readonly values: unknown[] = []
  readonly owners: string
  /** Conditions on the owner, the time and the position of an event. */
  readonly within: string
  readonly #filter: SpeedFilter

  constructor(filter: SpeedFilter) {
    this.#filter = filter
    const { tenantId, userIds, fromMs, toMs, asOf } = filter
    this.owners = tenantId === undefined ? ownersSql : oneOwnerSql(this.add(tenantId))
    const conditions = [
      `e.tenant_id = o.tenant_id`,
      `e.at >= ${this.add(new Date(fromMs))}::timestamptz`,
      `e.at < ${this.add(new Date(toMs))}::timestamptz`,
      `e.position <= ${this.add(String(asOf))}::bigint`,
      ...(userIds === undefined ? [] : [`e.user_id = any(${this.add(userIds)}::text[])`]),
    ]
    this.within = conditions.join(' and ')
  }

  add(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  /** Conditions on the facts of a request. */
  facts(): string {
    const { model, surface, channelId } = this.#filter
    const given = [
      ['model', model],
      ['surface', surface],
      ['channel', channelId],
    ] as const
    const conditions = given.flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} = ${this.add(value)}`],
    )
    return conditions.length === 0 ? 'true' : conditions.join(' and ')
  }
}

/** One of how many events is read, so that a long time is read as fast as a short one. */
async function stepOf(db: Queryable, filter: SpeedFilter): Promise<number> {
  const statement = new Statement({ ...filter, userIds: undefined })
  const { rows } = await db.query<{ n: number }>(
    `with recursive ${statement.owners}
     select count(*)::int as n from owners o join timeline.events e on ${statement.within}`,
    statement.values,
  )
  return Math.max(1, Math.ceil((rows[0]?.n ?? 0) / READ_AT_MOST))
}

const membersSql = (endedAt: string): string =>
  `as d (model text, surface text, "channelId" text, "startedAt" text, "requestedAt" text, "firstByteMs" float8, "${endedAt}" text)`

const elapsedSql = (from: string, to: string): string =>
  `extract(epoch from ${to} - ${from}::timestamptz) * 1000`

/**
 * The facts of a request: those of the first event of a task, and of the event of a call itself. The subquery is not
 * flattened, so that it is found by two keys and once for each row.
 */
const factsSql = `cross join lateral (select coalesce(
    (select b.data from timeline.sources s join timeline.events b on b.position = s.position
     where s.source_id = e.source_id and e.type <> 'CallFailed'), e.data) as data offset 0) r`

/** Answered calls and tasks among the picked events. The facts of a task are those of its first event. */
const answeredSql = `
  select e.at, true as is_answered, 1 as n, d.model, d.surface, d."channelId" as channel,
         ${elapsedSql('d."startedAt"', 'd."settledAt"::timestamptz')} as ms, d."firstByteMs" as first_ms
  from picked join timeline.events e using (position)
  cross join lateral json_to_record(e.data) ${membersSql('settledAt')}
  where e.type = 'CallSettled'
  union all
  select e.at, true, 1, d.model, d.surface, d."channelId", ${elapsedSql('d."requestedAt"', 'e.at')}, null
  from picked join timeline.events e using (position) ${factsSql}
  cross join lateral json_to_record(r.data) ${membersSql('none')}
  where e.type = 'TaskSucceeded'`

/** All requests that failed: there are few, and each has an entry in an index. */
const failedSql = (within: string): string => `
  select e.at, false, coalesce((e.data->>'count')::int, 1), d.model, d.surface, d."channelId", null, null
  from owners o join timeline.events e on ${within} and e.${typesSql(failedTypes)}
  ${factsSql}
  cross join lateral json_to_record(r.data) ${membersSql('none')}`

function keySql(group: SpeedGroup, zone: string): string {
  return group === 'hour' || group === 'day'
    ? `(extract(epoch from date_trunc('${group}', at, ${zone})) * 1000)::bigint::text`
    : group
}

type Percentiles = readonly (number | null)[] | null

interface SpeedRecord {
  readonly key: string | null
  readonly is_total: boolean
  readonly answered: string
  readonly failed: string
  /** Median and 95th percentile, milliseconds. */
  readonly took: Percentiles
  readonly first_byte: Percentiles
}

/** The groups in the order of their keys, and the total of all; `step`: one of so many answered requests was read. */
export async function speedOf(
  db: Queryable,
  filter: SpeedFilter,
  by: { readonly group: SpeedGroup; readonly zone: string; readonly limit: number },
): Promise<{ readonly groups: readonly Speed[]; readonly total: Speed; readonly step: number }> {
  const step = await stepOf(db, filter)
  const statement = new Statement(filter)
  const { owners, within } = statement
  const every = statement.add(step)
  const zone = `${statement.add(by.zone)}::text`
  const { rows } = await db.query<SpeedRecord>(
    `with recursive ${owners},
     picked as (
       select e.position from owners o join timeline.events e on ${within}
         and (hashint8(e.position) & 2147483647) % ${every}::int = 0),
     requests as (${answeredSql} union all ${failedSql(within)}),
     keyed as (select ${keySql(by.group, zone)} as key, is_answered, n, ms, first_ms from requests
               where ${zone} is not null and ${statement.facts()})
     select key, grouping(key) = 1 as is_total,
            (count(*) filter (where is_answered) * ${every}::int)::text as answered,
            coalesce(sum(n) filter (where not is_answered), 0)::text as failed,
            percentile_disc(array[0.5, 0.95]) within group (order by ms) filter (where is_answered) as took,
            percentile_disc(array[0.5, 0.95]) within group (order by first_ms) filter (where is_answered) as first_byte
     from keyed group by grouping sets ((key), ()) order by is_total desc, key
     limit ${statement.add(by.limit + 1)}`,
    statement.values,
  )
  const [total, ...groups] = rows.map(toSpeed)
  return { groups, total: total ?? none, step }
}

function toSpeed({ key, is_total, answered, failed, took, first_byte }: SpeedRecord): Speed {
  return {
    key: is_total ? undefined : (key ?? ''),
    answered: Number(answered),
    failed: Number(failed),
    medianMs: wholeMs(took?.[0]),
    p95Ms: wholeMs(took?.[1]),
    firstByteMedianMs: wholeMs(first_byte?.[0]),
    firstByteP95Ms: wholeMs(first_byte?.[1]),
  }
}

const wholeMs = (ms: number | null | undefined): number | undefined =>
  ms === null || ms === undefined ? undefined : Math.max(0, Math.round(ms))

const none: Speed = {
  key: undefined,
  answered: 0,
  failed: 0,
  medianMs: undefined,
  p95Ms: undefined,
  firstByteMedianMs: undefined,
  firstByteP95Ms: undefined,
}
