import * as fc from 'fast-check'
import t from 'tap'
import { ledgerSummedEvery } from '../../../projections/ledger/projection.ts'
import {
  listLines,
  listLogs,
  usage,
  type LedgerFilter,
  type UsageGroup,
  type UsageKey,
} from '../../../projections/ledger/query.ts'
import { openLogs } from '../../../src/api/query/open-logs.ts'
import { TimeZone } from '../../../src/kernel/time-zone.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { applied, testPool } from '../support/database.ts'
import { openTenant, recordCall, Recorder } from '../support/history.ts'

const HOUR_MS = 3_600_000
const CALLS = 600
/** Both changes of the clocks of Berlin, and of New York, lie in it. */
const FROM_MS = Date.parse('2026-02-20T00:00:00Z')
const LENGTH_MS = 260 * 24 * HOUR_MS
const zones = [
  'UTC',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Asia/Shanghai',
  'America/New_York',
  'America/St_Johns',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Pacific/Marquesas',
  'Africa/Cairo',
]

/** Calls of two tenants, at times that do not follow the order of the log. */
function calls(recorder: Recorder): readonly RecordedEvent[] {
  return Array.from({ length: CALLS }, (_, n) => {
    const tenantId = `tenant_${n % 2}`
    const event = recordCall(recorder, n, tenantId)
    if (event.type !== 'CallSettled') throw new Error('a call settles')
    const atMs = FROM_MS + ((n * 7_919 * 61_000 + (n % 9) * 900_000) % LENGTH_MS)
    const data = {
      ...event.data,
      model: `model-${n % 4}`,
      surface: n % 3 === 0 ? 'v1.chat' : 'v1.responses',
      settledAt: new Date(atMs).toISOString(),
      ...(n % 2 === 0 && { tags: { project: `p"${n % 3}` }, endUser: `end-${n % 5}` }),
    }
    return { ...event, data }
  })
}

/** Corrections of some lines, at other times than theirs; every other one is taken back in part. */
function refunds(recorder: Recorder): readonly RecordedEvent[] {
  return Array.from({ length: CALLS / 10 }, (_, n) => {
    const tenantId = `tenant_${n % 2}`
    const of = (n - (n % 4 === 3 ? 2 : 0)) * 10 + (n % 2)
    const postedMs = FROM_MS + ((n * 104_729 * 61_000) % LENGTH_MS)
    return recorder.record(`account-${tenantId}`, {
      type: 'AdjustmentPosted',
      data: {
        tenantId,
        adjustmentId: `adj_${n}`,
        currency: 'USD',
        amount: n % 4 === 3 ? '-0.000000000001' : `0.00000000000${(n % 9) + 1}`,
        corrects: { kind: 'line', lineId: `call_${of}:1` },
        reason: 'broken',
        postedAt: new Date(postedMs).toISOString(),
      },
    })
  })
}

/** A filter that few cases have, since little is left by several of these. */
const seldom = <Value>(values: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values })

function periodsOf(zone: TimeZone, groupBy: readonly UsageKey[], fromMs: number, toMs: number) {
  if (groupBy.includes('hour')) return zone.hoursBetween(fromMs, toMs)
  return groupBy.includes('month')
    ? zone.monthsBetween(fromMs, toMs)
    : zone.daysBetween(fromMs, toMs)
}

/** The hour of a day in a zone that holds a time, each day cut from its beginning. */
function hourOf(unixMs: number, name: string): string {
  const zone = TimeZone.named(name)
  return zone.hoursBetween(unixMs, unixMs + 1)[0]?.name ?? ''
}

t.test('usage by the hours, days and months of any zone', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const settled = [...openTenant(recorder, 'tenant_0'), ...calls(recorder)]
  const posted = refunds(recorder)
  const events = [...settled, ...posted]
  // Some lines are in the sums by time, and some are not yet.
  await applied(t, pool, events, [ledgerSummedEvery(300)], 37)
  t.equal((await usage(pool, { filter: {}, groupBy: ['day'], limit: 3 })).length, 3, 'no more')
  const lines = (await listLines(pool, {}, { limit: 10_000 })).items
  t.equal(lines.length, CALLS * 2)

  type Line = (typeof lines)[number]
  /** Refunds with the facts of their lines, at the time and place where they were posted. */
  const refunded = posted.flatMap(({ type, data, position }) => {
    const line = lines.find(
      ({ lineId }) =>
        type === 'AdjustmentPosted' &&
        data.corrects.kind === 'line' &&
        lineId === data.corrects.lineId,
    )
    if (line === undefined || type !== 'AdjustmentPosted') return []
    const settledAtMs = Date.parse(data.postedAt)
    const refund = parseAmount(data.amount)
    return [{ ...line, settledAtMs, position: String(position), refund }]
  })
  t.equal(refunded.length, CALLS / 10)
  const written = new Map(
    zones.map((zone) => [zone, new Intl.DateTimeFormat('en-CA', { timeZone: zone })]),
  )
  const keyOf = (line: Line, key: UsageKey, zone: string): string => {
    const day = written.get(zone)?.format(line.settledAtMs) ?? ''
    switch (key) {
      case 'day':
        return day
      case 'month':
        return day.slice(0, 7)
      case 'hour':
        return hourOf(line.settledAtMs, zone)
      case 'model':
        return line.model
      case 'token':
        return line.tokenId
      case 'user':
        return line.userId
      case 'sku':
        return line.sku
      case 'surface':
        return line.surface
      case 'tenant':
        return line.tenantId
      case 'end_user':
        return line.endUser ?? 'none'
      default:
        return tagsOf(line)[key.slice('tag:'.length)] ?? 'none'
    }
  }
  const tagsOf = ({ tags }: Line) => JSON.parse(tags ?? '{}') as Readonly<Record<string, string>>
  const matches = (line: Line, filter: LedgerFilter): boolean =>
    (filter.tenantId ?? line.tenantId) === line.tenantId &&
    (filter.userIds?.includes(line.userId) ?? true) &&
    (filter.tokenId ?? line.tokenId) === line.tokenId &&
    (filter.model ?? line.model) === line.model &&
    (filter.endUser ?? line.endUser) === line.endUser &&
    (filter.tags ?? []).every(([name, value]) => tagsOf(line)[name] === value) &&
    BigInt(line.position) > (filter.since ?? -1n) &&
    line.settledAtMs >= (filter.fromMs ?? 0) &&
    line.settledAtMs < (filter.toMs ?? Infinity) &&
    BigInt(line.position) <= (filter.asOf ?? BigInt(line.position))
  /** One by one: the figures by the keys. */
  const summed = (filter: LedgerFilter, groupBy: readonly UsageKey[], zone: string) => {
    const sums = new Map<
      string,
      { pico: bigint; refund: bigint; quantity: number; requests: number; lines: number }
    >()
    const sumOf = (line: Line) => {
      const key = groupBy.map((each) => keyOf(line, each, zone)).join(' ')
      const sum = sums.get(key) ?? { pico: 0n, refund: 0n, quantity: 0, requests: 0, lines: 0 }
      sums.set(key, sum)
      return sum
    }
    for (const line of lines.filter((each) => matches(each, filter))) {
      const sum = sumOf(line)
      sum.pico += parseAmount(line.amount)
      sum.quantity += line.quantity
      sum.requests += line.lineId.endsWith(':1') ? 1 : 0
      sum.lines += 1
    }
    for (const refund of refunded.filter((each) => matches(each, filter)))
      sumOf(refund).refund += refund.refund
    return [...sums]
      .filter(([, { lines: n, refund }]) => n > 0 || refund !== 0n)
      .map(([key, { pico, refund, quantity, requests, lines: n }]) =>
        [
          key,
          ...[pico, refund, pico - refund].map(formatAmount),
          n === 0 ? undefined : quantity,
          requests,
          n,
        ].join(' '),
      )
      .toSorted()
  }
  const shown = (groups: readonly UsageGroup[], groupBy: readonly UsageKey[]) =>
    groups
      .map(({ keys, amount, refunded: given, net, quantity, requests, lines: n }) =>
        [
          ...groupBy.map((key) => keys[key] ?? 'none'),
          amount,
          given,
          net,
          quantity,
          requests,
          n,
        ].join(' '),
      )
      .toSorted()

  const positions = [...lines, ...refunded].map(({ position }) => BigInt(position))
  const times = ['hour', 'day', 'month'] as const
  const facts = [
    'model',
    'token',
    'user',
    'sku',
    'surface',
    'tenant',
    'end_user',
    'tag:project',
  ] as const
  const keysOf = fc
    .uniqueArray(fc.constantFrom<UsageKey>(...times, ...facts), { minLength: 1, maxLength: 2 })
    .filter((keys) => keys.filter((key) => times.some((time) => time === key)).length < 2)

  await t.test('is the sum of the lines, in every range and as of every position', async (t) => {
    const instants = fc.integer({
      min: FROM_MS - 50 * HOUR_MS,
      max: FROM_MS + LENGTH_MS + 50 * HOUR_MS,
    })
    const whole = instants.map((ms) => Math.floor(ms / HOUR_MS) * HOUR_MS)
    const all = {
      tenantId: undefined,
      userIds: undefined,
      tokenId: undefined,
      model: undefined,
      asOf: undefined,
      since: undefined,
      tags: undefined,
      endUser: undefined,
    }
    // A day begins in the midst of the last hours of the range.
    const ends = [
      ['2026-02-17T22:00:00Z', '2026-02-22T19:00:00Z'],
      ['2026-02-22T18:00:00Z', '2026-02-22T19:00:00Z'],
      ['2026-02-21T03:00:00Z', '2026-02-22T20:00:00Z'],
    ].map(([from = '', to = '']) => [Date.parse(from), Date.parse(to)] as [number, number])
    const examples = ['Asia/Kolkata', 'Asia/Kathmandu', 'America/St_Johns'].flatMap((zone) =>
      ends.map((range): [string, [number, number], UsageKey[], typeof all] => [
        zone,
        range,
        ['day'],
        all,
      ]),
    )
    await t.resolves(
      fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...zones),
          fc.tuple(fc.oneof(instants, whole), fc.oneof(instants, whole)),
          keysOf,
          fc.record({
            tenantId: fc.option(fc.constantFrom('tenant_0', 'tenant_1'), { nil: undefined }),
            userIds: fc.option(fc.constant(['user_1', 'user_2']), { nil: undefined }),
            tokenId: fc.option(fc.constant('tok_3'), { nil: undefined }),
            model: fc.option(fc.constant('model-1'), { nil: undefined }),
            asOf: fc.option(fc.constantFrom(...positions), { nil: undefined }),
            since: seldom(fc.constantFrom(...positions)),
            tags: seldom(fc.constant([['project', 'p"1']] as [string, string][])),
            endUser: seldom(fc.constant('end-2')),
          }),
          async (zone, [one, other], groupBy, asked) => {
            const [fromMs, toMs] = [Math.min(one, other), Math.max(one, other)]
            const filter = { ...asked, fromMs, toMs }
            const periods = periodsOf(TimeZone.named(zone), groupBy, fromMs, toMs)
            const named = periods.length === 0 ? undefined : periods
            const groups = await usage(pool, {
              filter,
              groupBy,
              periods: named,
              withRefunds: true,
            })
            const found = shown(groups, groupBy)
            const expected = summed(filter, groupBy, zone)
            if (JSON.stringify(found) !== JSON.stringify(expected))
              throw new Error(`${found.join('\n')}\nis not\n${expected.join('\n')}`)
          },
        ),
        { numRuns: propertyRuns(300), examples },
      ),
    )
  })

  await t.test('days of UTC are summed from daily totals only', async (t) => {
    const groups = await usage(pool, { filter: {}, groupBy: ['day', 'sku'], withRefunds: true })
    t.same(shown(groups, ['day', 'sku']), summed({}, ['day', 'sku'], 'UTC'))
  })

  await t.test('pages by number join up to the whole list, from any start', async (t) => {
    const asOf = positions.toSorted((a, b) => (a < b ? -1 : 1))[CALLS]
    const filter = { kinds: ['consume', 'topup', 'adjust', 'refund'] as const, asOf }
    const all = await listLogs(pool, filter, { offset: 0, limit: 10_000 })
    const logs = await openLogs((read) => read(pool), filter)
    t.equal(logs.total, all.length)
    const then = lines.filter(({ position }) => BigInt(position) <= (asOf ?? 0n))
    t.equal(all.filter(({ kind }) => kind === 'consume').length, then.length)
    t.same(
      all.filter(({ kind }) => kind !== 'consume').map(({ kind, amount }) => [kind, amount]),
      [
        ['adjust', '-0.25'],
        ['topup', '10000'],
      ],
    )
    for (const offset of [0, 1, 19, 20, 333, all.length - 3, all.length - 1])
      t.same(await logs.page({ offset, limit: 20 }), all.slice(offset, offset + 20), `${offset}`)
    t.same(await logs.page({ offset: all.length, limit: 20 }), [])
  })
})
