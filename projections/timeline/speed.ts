import type { Queryable } from '../engine/queryable.ts'
import { beforeSql, untilSql } from './positions.ts'
import { failureTypes, isSampledSql, SAMPLED_ONE_OF, typesSql } from './tables.ts'

/** How many requests were answered and failed, and how long the answered ones took, by groups. */

/** Answered requests that are read at about the most: of more, one of every few is read. */
const READ_AT_MOST = 5_000

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

class Statement {
  readonly values: unknown[] = []
  /** Conditions on the owner, the time and the position of an event. */
  readonly within: string
  /** These without the condition on users, who are in no index of times. */
  readonly inTime: string
  /** Bounds of the positions of all events of the time. */
  readonly bounds: readonly [above: string, until: string]
  readonly #filter: SpeedFilter

  constructor(filter: SpeedFilter) {
    this.#filter = filter
    const { tenantId, userIds, fromMs, toMs, asOf } = filter
    const owner = tenantId === undefined ? undefined : this.add(tenantId)
    const from = `${this.add(new Date(fromMs))}::timestamptz`
    const to = `${this.add(new Date(toMs))}::timestamptz`
    const last = `${this.add(String(asOf))}::bigint`
    const ofOwner = owner === undefined ? '' : `e.tenant_id = ${owner} and `
    this.inTime = `${ofOwner}e.at >= ${from} and e.at < ${to} and e.position <= ${last}`
    this.within =
      userIds === undefined
        ? this.inTime
        : `${this.inTime} and e.user_id = any(${this.add(userIds)}::text[])`
    this.bounds = [beforeSql('all', from), `least(${last}, ${untilSql('all', to)})`]
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

/**
 * One of how many events is read, so that a long time is read as fast as a short one; how many there are is estimated
 * from the index of samples.
 */
async function stepOf(db: Queryable, filter: SpeedFilter): Promise<number> {
  const { values, inTime } = new Statement({ ...filter, userIds: undefined })
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from timeline.events e where ${inTime} and ${isSampledSql('e.position')}`,
    values,
  )
  const step = Math.ceil(((rows[0]?.n ?? 0) * SAMPLED_ONE_OF) / READ_AT_MOST)
  if (step <= SAMPLED_ONE_OF / 2) return Math.max(1, step)
  // All of these are in that index.
  return SAMPLED_ONE_OF * Math.ceil(step / SAMPLED_ONE_OF)
}

/** The positions of the events that are read, each found in an index; of short times of all tenants a few more. */
function pickedSql({ tenantId }: SpeedFilter, statement: Statement, step: number): string {
  const { inTime, bounds } = statement
  const isPicked = `(hashint8(e.position) & 2147483647) % ${statement.add(step)}::int = 0`
  const isSampled = step % SAMPLED_ONE_OF === 0 ? `${isSampledSql('e.position')} and ` : ''
  const range =
    tenantId === undefined && isSampled === ''
      ? `e.position > ${bounds[0]} and e.position <= ${bounds[1]}`
      : inTime
  return `select e.position from timeline.events e where ${range} and ${isSampled}${isPicked}`
}

const membersSql =
  'as d (model text, surface text, "channelId" text, "startedAt" text, "requestedAt" text, "firstByteMs" float8, "settledAt" text)'

const elapsedSql = (from: string, to: string): string =>
  `extract(epoch from ${to} - ${from}::timestamptz) * 1000`

/**
 * The facts of a request: those of the first event of a task, and of the event of a call itself. The subquery is not
 * flattened, so that it is found by two keys and once for each row.
 */
const factsSql = `cross join lateral (select coalesce(
    (select b.data from timeline.sources s join timeline.events b on b.position = s.position
     where s.source_id = e.source_id and e.type not in ('CallSettled', 'CallFailed')), e.data) as data offset 0) r
  cross join lateral json_to_record(r.data) ${membersSql}`

/** Answered calls and tasks among the picked events. */
const answeredSql = (within: string): string => `
  select e.at, true as is_answered, 1 as n, d.model, d.surface, d."channelId" as channel,
         case e.type when 'CallSettled' then ${elapsedSql('d."startedAt"', 'd."settledAt"::timestamptz')}
                     else ${elapsedSql('d."requestedAt"', 'e.at')} end as ms,
         case e.type when 'CallSettled' then d."firstByteMs" end as first_ms
  from picked join timeline.events e using (position) ${factsSql}
  where ${within} and e.${typesSql(['CallSettled', 'TaskSucceeded'])}`

/** All requests that failed: there are few, and each has an entry in an index. */
const failedSql = (within: string): string => `
  select e.at, false, coalesce((e.data->>'count')::int, 1), d.model, d.surface, d."channelId", null, null
  from timeline.events e ${factsSql}
  where ${within} and e.${typesSql(failedTypes)}`

function keySql(group: SpeedGroup, zone: string): string {
  return group === 'hour' || group === 'day'
    ? `(extract(epoch from date_trunc('${group}', at, ${zone})) * 1000)::bigint::text`
    : group
}

type Percentiles = readonly (number | null)[] | null

interface SpeedRecord {
  readonly key: string | null
  /** The number of the grouping of this row; null: the row is of all requests. */
  readonly in_grouping: number | null
  readonly answered: string
  readonly failed: string
  /** Median and 95th percentile, milliseconds. */
  readonly took: Percentiles
  readonly first_byte: Percentiles
}

interface Speeds {
  /** By grouping, in the order of the keys. */
  readonly groups: ReadonlyMap<SpeedGroup, readonly Speed[]>
  readonly total: Speed
  /** One of so many answered requests was read. */
  readonly step: number
}

/** The requests in several groupings, each of which has so many groups at most: they are read once for all groupings. */
export async function speedOf(
  db: Queryable,
  filter: SpeedFilter,
  by: { readonly groups: ReadonlySet<SpeedGroup>; readonly zone: string; readonly limit: number },
): Promise<Speeds> {
  const step = await stepOf(db, filter)
  const statement = new Statement(filter)
  const { within } = statement
  const picked = pickedSql(filter, statement, step)
  const zone = `${statement.add(by.zone)}::text`
  const groups = [...by.groups]
  const keys = groups.map((_, n) => `key_${n}`)
  const groupingSql = keys.map((key, n) => `when grouping(${key}) = 0 then ${n}`).join(' ')
  const { rows } = await db.query<SpeedRecord>(
    `with picked as materialized (${picked}),
     requests as (${answeredSql(within)} union all ${failedSql(within)}),
     keyed as (select ${groups.map((group, n) => `${keySql(group, zone)} as key_${n}`).join(', ')},
                 is_answered, n, ms, first_ms from requests
               where ${zone} is not null and ${statement.facts()}),
     grouped as (select coalesce(${keys.join(', ')}) as key, case ${groupingSql} end as in_grouping,
            (count(*) filter (where is_answered) * ${step})::text as answered,
            coalesce(sum(n) filter (where not is_answered), 0)::text as failed,
            percentile_disc(array[0.5, 0.95]) within group (order by ms) filter (where is_answered) as took,
            percentile_disc(array[0.5, 0.95]) within group (order by first_ms) filter (where is_answered) as first_byte
     from keyed group by grouping sets (${keys.map((key) => `(${key})`).join(', ')}, ())),
     numbered as (select *, row_number() over (partition by in_grouping order by key) as nth from grouped)
     select key, in_grouping, answered, failed, took, first_byte from numbered
     where nth <= ${statement.add(by.limit)} order by in_grouping, key`,
    statement.values,
  )
  const total = rows.find((row) => row.in_grouping === null)
  const speedsOf = (n: number) => rows.filter((row) => row.in_grouping === n).map(toSpeed)
  return {
    groups: new Map(groups.map((group, n) => [group, speedsOf(n)])),
    total: total === undefined ? none : toSpeed(total),
    step,
  }
}

function toSpeed({ key, in_grouping, answered, failed, took, first_byte }: SpeedRecord): Speed {
  return {
    key: in_grouping === null ? undefined : (key ?? ''),
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
