import * as fc from 'fast-check'
import t from 'tap'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
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
    }
    return { ...event, data }
  })
}

t.test('usage by the days of any zone', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const events = [...openTenant(recorder, 'tenant_0'), ...calls(recorder)]
  await applied(t, pool, events, [ledgerProjection], 37)
  t.equal((await usage(pool, { filter: {}, groupBy: ['day'], limit: 3 })).length, 3, 'no more')
  const lines = (await listLines(pool, {}, { limit: 10_000 })).items
  t.equal(lines.length, CALLS * 2)

  type Line = (typeof lines)[number]
  const written = new Map(
    zones.map((zone) => [zone, new Intl.DateTimeFormat('en-CA', { timeZone: zone })]),
  )
  const keyOf = (line: Line, key: UsageKey, zone: string): string => {
    switch (key) {
      case 'day':
        return written.get(zone)?.format(line.settledAtMs) ?? ''
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
    }
  }
  const matches = (line: Line, filter: LedgerFilter): boolean =>
    (filter.tenantId ?? line.tenantId) === line.tenantId &&
    (filter.userIds?.includes(line.userId) ?? true) &&
    (filter.tokenId ?? line.tokenId) === line.tokenId &&
    (filter.model ?? line.model) === line.model &&
    line.settledAtMs >= (filter.fromMs ?? 0) &&
    line.settledAtMs < (filter.toMs ?? Infinity) &&
    BigInt(line.position) <= (filter.asOf ?? BigInt(line.position))
  /** One by one: amount, quantity and number of lines by the keys. */
  const summed = (filter: LedgerFilter, groupBy: readonly UsageKey[], zone: string) => {
    const sums = new Map<string, [pico: bigint, quantity: number, lines: number]>()
    for (const line of lines.filter((each) => matches(each, filter))) {
      const key = groupBy.map((each) => keyOf(line, each, zone)).join(' ')
      const [pico, quantity, n] = sums.get(key) ?? [0n, 0, 0]
      sums.set(key, [pico + parseAmount(line.amount), quantity + line.quantity, n + 1])
    }
    return [...sums]
      .map(([key, [pico, ...rest]]) => [key, formatAmount(pico), ...rest].join(' '))
      .toSorted()
  }
  const shown = (groups: readonly UsageGroup[], groupBy: readonly UsageKey[]) =>
    groups
      .map(({ keys, amount, quantity, lines: n }) =>
        [...groupBy.map((key) => keys[key]), amount, quantity, n].join(' '),
      )
      .toSorted()

  const positions = lines.map(({ position }) => BigInt(position))
  const keys: readonly UsageKey[] = ['day', 'model', 'token', 'user', 'sku', 'surface']

  await t.test('is the sum of the lines, in every range and as of every position', async (t) => {
    const times = fc.integer({
      min: FROM_MS - 50 * HOUR_MS,
      max: FROM_MS + LENGTH_MS + 50 * HOUR_MS,
    })
    const whole = times.map((ms) => Math.floor(ms / HOUR_MS) * HOUR_MS)
    const facts = {
      tenantId: undefined,
      userIds: undefined,
      tokenId: undefined,
      model: undefined,
      asOf: undefined,
    }
    // A day begins in the midst of the last hours of the range.
    const ends = [
      ['2026-02-17T22:00:00Z', '2026-02-22T19:00:00Z'],
      ['2026-02-22T18:00:00Z', '2026-02-22T19:00:00Z'],
      ['2026-02-21T03:00:00Z', '2026-02-22T20:00:00Z'],
    ].map(([from = '', to = '']) => [Date.parse(from), Date.parse(to)] as [number, number])
    const examples = ['Asia/Kolkata', 'Asia/Kathmandu', 'America/St_Johns'].flatMap((zone) =>
      ends.map((range): [string, [number, number], UsageKey[], typeof facts] => [
        zone,
        range,
        ['day'],
        facts,
      ]),
    )
    await t.resolves(
      fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...zones),
          fc.tuple(fc.oneof(times, whole), fc.oneof(times, whole)),
          fc.uniqueArray(fc.constantFrom(...keys), { minLength: 1, maxLength: 2 }),
          fc.record({
            tenantId: fc.option(fc.constantFrom('tenant_0', 'tenant_1'), { nil: undefined }),
            userIds: fc.option(fc.constant(['user_1', 'user_2']), { nil: undefined }),
            tokenId: fc.option(fc.constant('tok_3'), { nil: undefined }),
            model: fc.option(fc.constant('model-1'), { nil: undefined }),
            asOf: fc.option(fc.constantFrom(...positions), { nil: undefined }),
          }),
          async (zone, [one, other], groupBy, facts) => {
            const [fromMs, toMs] = [Math.min(one, other), Math.max(one, other)]
            const filter = { ...facts, fromMs, toMs }
            const days = TimeZone.named(zone).daysBetween(fromMs, toMs)
            const named = days.length === 0 ? undefined : days
            const groups = await usage(pool, { filter, groupBy, days: named })
            const found = shown(groups, groupBy)
            const expected = summed(filter, groupBy, zone)
            if (JSON.stringify(found) !== JSON.stringify(expected))
              throw new Error(`${found.join('\n')}\nis not\n${expected.join('\n')}`)
          },
        ),
        { numRuns: 300, examples },
      ),
    )
  })

  await t.test('days of UTC are summed from daily totals only', async (t) => {
    const groups = await usage(pool, { filter: {}, groupBy: ['day', 'sku'] })
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
