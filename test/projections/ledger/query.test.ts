import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { countPassedOver } from '../../../projections/engine/passed-over.ts'
import { chainHash, GENESIS } from '../../../projections/ledger/fold/chain.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import {
  chainHead,
  lineFacts,
  listCredits,
  listLines,
  pricedLines,
  type LineOrder,
  sortedLines,
  type LedgerFilter,
  usage,
} from '../../../projections/ledger/query.ts'
import { balances } from '../../helpers/ledger-balances.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { toTimestamp } from '../../../src/kernel/clock.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { applied, startEngine, testPool } from '../support/database.ts'
import {
  openTenant,
  overlappingTasks,
  recordCall,
  Recorder,
  START_MS,
  type Life,
} from '../support/history.ts'
import { ScriptedLog } from '../support/memory-log.ts'

const TASKS = 130
const DAY_MS = 86_400_000

t.test('reads of the ledger', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const lifeOf = (n: number): Life => (n % 10 === 9 ? 'failed' : n % 10 === 8 ? 'stuck' : 'settled')
  const events = [
    ...openTenant(recorder, 'tenant_0'),
    ...openTenant(recorder, 'tenant_1'),
    ...overlappingTasks(recorder, {
      tasks: TASKS,
      width: 9,
      // An hour apart: several days.
      shape: (n) => ({ tenantId: `tenant_${n % 2}`, model: `model-${n % 3}`, tokens: 1 + n * 997 }),
      life: lifeOf,
    }),
    recordCall(recorder, 3, 'tenant_1'),
  ]
  await applied(t, pool, events, [ledgerProjection], 37)

  const all = async (filter: LedgerFilter, limit = 7) => {
    const items = []
    let after: string | undefined
    do {
      const page = await listLines(pool, filter, { after, limit })
      items.push(...page.items)
      after = page.next
    } while (after !== undefined)
    return items
  }

  await t.test('pages give every line once, newest first, at any page size', async (t) => {
    const lines = await all({}, 7)
    const settled = events.filter(({ type }) => type === 'TaskSettled').length
    t.equal(lines.length, settled + 2)
    t.same(
      (await all({}, 1_000)).map((line) => line.lineId),
      lines.map((line) => line.lineId),
    )
    for (const [index, line] of lines.entries()) {
      const next = lines[index + 1]
      if (next)
        t.ok(
          line.settledAtMs > next.settledAtMs ||
            (line.settledAtMs === next.settledAtMs && BigInt(line.seq) > BigInt(next.seq)),
        )
    }
  })

  await t.test('equal lines are priced together, and every line once', async (t) => {
    const lines = await all({ tenantId: 'tenant_1' }, 1_000)
    const sumOf = async (pageLines: number) => {
      let amountPico = 0n
      let count = 0
      const range = { tenantId: 'tenant_1', fromMs: 0, toMs: START_MS + 1_000 * DAY_MS }
      for await (const page of pricedLines(pool, range, pageLines))
        for (const equal of page) {
          amountPico += parseAmount(equal.amount)
          count += equal.lines
        }
      return { count, amount: formatAmount(amountPico) }
    }
    const amount = formatAmount(lines.reduce((sum, line) => sum + parseAmount(line.amount), 0n))
    for (const pageLines of [1, 7, lines.length, 10_000])
      t.same(await sumOf(pageLines), { count: lines.length, amount }, `${pageLines} at once`)
  })

  await t.test('a line has every member that explains it', async (t) => {
    const [line] = await all({ tenantId: 'tenant_1', sku: 'gpt-x-input-token' })
    t.match(line, {
      lineId: 'call_3:1',
      sourceId: 'call_3',
      nativeId: null,
      surface: 'openai.chat',
      model: 'gpt-x',
      rule: 'chat',
      quantity: 103,
      unit: 'token',
      price: '4.3',
      per: 1_000_000,
      currency: 'USD',
      amount: '0.0004429',
      priceBookVersion: '2026-03-01',
      measurement: 'reported',
      requestId: 'req_call_3',
      position: events.at(-1)?.position.toString(),
    })
  })

  await t.test('every filter narrows the list', async (t) => {
    const lines = await all({})
    const check = async (filter: LedgerFilter, test: (line: (typeof lines)[number]) => boolean) =>
      t.same(
        (await all(filter)).map((line) => line.lineId),
        lines.filter(test).map((line) => line.lineId),
        JSON.stringify(filter),
      )
    await check({ tenantId: 'tenant_0' }, (line) => line.tenantId === 'tenant_0')
    await check({ userIds: ['user_1', 'user_2'] }, (line) => line.userId !== 'user_0')
    await check({ userIds: [] }, () => false)
    await check({ model: 'model-1' }, (line) => line.model === 'model-1')
    await check({ currency: 'USD' }, (line) => line.currency === 'USD')
    await check({ sourceId: lines[4]!.sourceId }, (line) => line.sourceId === lines[4]!.sourceId)
    const fromMs = lines[20]!.settledAtMs
    const toMs = lines[5]!.settledAtMs
    await check({ fromMs, toMs }, (line) => line.settledAtMs >= fromMs && line.settledAtMs < toMs)
    await check({ tenantId: 'tenant_0', sku: 'none' }, () => false)
  })

  await t.test('other orders have the same lines, page by page, within a bound', async (t) => {
    const sorted = async (filter: LedgerFilter, order: LineOrder) => {
      const items = []
      let after: string | undefined
      do {
        const page = await sortedLines(pool, filter, { after, limit: 7, order })
        items.push(...(page?.items ?? []))
        after = page?.next
      } while (after !== undefined)
      return items
    }
    for (const filter of [{}, { tenantId: 'tenant_1' }, { model: 'model-1' }]) {
      const newest = await all(filter)
      t.same(await sorted(filter, 'settled_at'), newest.toReversed())
      const byAmount = (sign: number) =>
        newest.toSorted((a, b) => {
          const difference = parseAmount(a.amount) - parseAmount(b.amount)
          const place = Number(BigInt(a.seq) - BigInt(b.seq))
          const own = difference === 0n ? place : difference > 0n ? 1 : -1
          return a.currency === b.currency ? sign * own : a.currency < b.currency ? -1 : 1
        })
      t.same(await sorted(filter, 'amount'), byAmount(1))
      t.same(await sorted(filter, '-amount'), byAmount(-1))
    }
    const page = { limit: 7, order: 'amount' } as const
    const { length } = await all({})
    t.equal(await sortedLines(pool, {}, page, length - 1), undefined)
    t.equal((await sortedLines(pool, {}, page, length))?.items.length, 7)
    await t.rejects(sortedLines(pool, { tenantId: 'tenant_0' }, { ...page, after: 'nothing:1' }), {
      code: 'invalid_cursor',
    })
  })

  await t.test('an unknown cursor is refused', async (t) => {
    await t.rejects(listLines(pool, {}, { after: 'nothing:1', limit: 5 }), {
      code: 'invalid_cursor',
    })
  })

  await t.test('summaries are the sums of the lines, per currency, for any times', async (t) => {
    const lines = await all({})
    const times: [number | undefined, number | undefined][] = [
      [undefined, undefined],
      [START_MS + 20_000, undefined],
      [START_MS + 20_000, START_MS + 60_000],
      [START_MS - DAY_MS, START_MS + 60_000],
      [START_MS - 3 * DAY_MS, START_MS + 3 * DAY_MS],
      [Date.parse('2026-03-04T00:00:00Z'), Date.parse('2026-03-05T00:00:00Z')],
    ]
    for (const [fromMs, toMs] of times)
      for (const groupBy of ['sku', 'day', 'model', 'tenant'] as const) {
        const sums = new Map<string, bigint>()
        for (const line of lines) {
          if (line.settledAtMs < (fromMs ?? 0) || line.settledAtMs >= (toMs ?? Infinity)) continue
          const key = {
            sku: line.sku,
            model: line.model,
            tenant: line.tenantId,
            day: toTimestamp(line.settledAtMs).slice(0, 10),
          }[groupBy]
          sums.set(
            `${key} ${line.currency}`,
            (sums.get(`${key} ${line.currency}`) ?? 0n) + parseAmount(line.amount),
          )
        }
        const filter = { fromMs, toMs }
        const groups = await usage(pool, { filter, groupBy: [groupBy], withRefunds: true })
        t.same(
          groups.map(({ keys, currency, amount }) => [`${keys[groupBy]} ${currency}`, amount]),
          [...sums]
            .map(([key, pico]) => [key, formatAmount(pico)])
            .sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1)),
          `${groupBy} ${fromMs} ${toMs}`,
        )
        t.equal(
          groups.reduce((sum, group) => sum + group.lines, 0),
          lines.filter(
            (line) => line.settledAtMs >= (fromMs ?? 0) && line.settledAtMs < (toMs ?? Infinity),
          ).length,
        )
      }
    const [one] = await usage(pool, {
      filter: { sourceId: 'call_3', currency: 'USD' },
      groupBy: ['tenant'],
      withRefunds: true,
    })
    t.match(one, { keys: { tenant: 'tenant_1' }, lines: 2, unit: 'token', quantity: 110 })
  })

  await t.test('balances: credit, limit, holds and settled amounts', async (t) => {
    const found = await balances(pool, 'tenant_0')
    const mine = (await all({ tenantId: 'tenant_0' })).reduce(
      (sum, line) => sum + parseAmount(line.amount),
      0n,
    )
    const held = Array.from({ length: TASKS }, (_, n) => n).filter(
      (n) => n % 2 === 0 && lifeOf(n) === 'stuck',
    ).length
    t.equal(found.length, 1)
    t.match(found[0], {
      currency: 'CNY',
      credit: '9999.75',
      limit: '50',
      settled: formatAmount(mine),
      held: formatAmount(BigInt(held) * 10_500_000_000_000n),
    })
    t.equal(
      found[0]?.availablePico,
      parseAmount('10049.75') - mine - BigInt(held) * 10_500_000_000_000n,
    )
    t.same(await balances(pool, 'nobody'), [])
  })

  await t.test('the chain can be recomputed from the listed lines', async (t) => {
    const lines = (await all({}, 500)).sort((a, b) => (BigInt(a.seq) < BigInt(b.seq) ? -1 : 1))
    let hash: Buffer = GENESIS
    for (const { seq, hash: stored, settledAtMs, position, ...line } of lines) {
      hash = chainHash(hash, {
        ...line,
        settledAt: toTimestamp(settledAtMs),
        position: BigInt(position),
      })
      if (hash.toString('hex') !== stored) t.fail(`line ${seq} does not continue the chain`)
    }
    t.same(await chainHead(pool), { seq: BigInt(lines.length), hash: hash.toString('hex') })
  })
})

t.test('an adjustment is shown with its line, in the balance and with its actor', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const tenantId = 'tenant_1'
  const adjusted = (adjustmentId: string, amount: string, lineId: string) => {
    const event = recorder.record(`account-${tenantId}`, {
      type: 'AdjustmentPosted',
      data: {
        tenantId,
        adjustmentId,
        currency: 'USD',
        amount,
        corrects: { kind: 'line', lineId },
        reason: 'broken "twice"\u0000',
        postedAt: toTimestamp(START_MS),
      },
    })
    return { ...event, metadata: { ...event.metadata, actor: 'Zoë' } }
  }
  const events = [
    ...openTenant(recorder, tenantId),
    recordCall(recorder, 3, tenantId),
    adjusted('adj_1', '0.0004', 'call_3:1'),
    adjusted('adj_2', '-0.0001', 'call_3:1'),
  ]
  await applied(t, pool, events, [ledgerProjection])
  const { items } = await listLines(pool, {}, { limit: 10 })
  t.same(
    items.map(({ lineId, amount, adjusted: sum }) => [lineId, amount, sum]),
    [
      ['call_3:2', '0.000084', '0'],
      ['call_3:1', '0.0004429', '0.0003'],
    ],
  )
  t.match(await balances(pool, tenantId), [
    { currency: 'CNY', credit: '9999.75' },
    { currency: 'USD', credit: '0.0003', settled: '0.0005269' },
  ])
  const newest = { order: 'newest', after: undefined, limit: 2 } as const
  t.match(await listCredits(pool, { tenantId, kinds: ['adjustment'] }, newest), [
    { id: 'adj_2', amount: '-0.0001', lineId: 'call_3:1', grantId: null },
    { id: 'adj_1', actor: 'Zoë', reason: 'broken "twice"\ufffd' },
  ])
  t.same(await lineFacts(pool, 'call_3:1'), {
    lineId: 'call_3:1',
    tenantId,
    currency: 'USD',
    amount: '0.0004429',
  })
  t.equal(await lineFacts(pool, 'call_3:9'), undefined)
})

t.test('an impossible history stops the ledger', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const first = recordCall(recorder, 1)
  const second = recordCall(recorder, 2)
  const data = second.data as { settlement: object }
  const unequal = { ...data, settlement: { ...data.settlement, amount: '1' } }
  const engine = startEngine(t, {
    pool,
    log: new ScriptedLog([first, { ...second, data: unequal } as typeof second]),
    projections: [ledgerProjection],
  })
  await eventually('it stops', () => engine.status().projections[0]?.state === 'stopped')
  t.equal(engine.status().projections[0]?.stopped?.eventId, second.id)
  t.equal((await chainHead(pool)).seq, 2n, 'only the first is there')
})

t.test('a call settled twice is counted once, by its first settlement', async (t) => {
  const recorder = new Recorder()
  const events = [1, 2, 1, 3, 3, 1].map((n) => recordCall(recorder, n))
  const once = [0, 1, 3].flatMap((at) => events[at] ?? [])
  const hashOf = async (taken: readonly RecordedEvent[], maxEvents: number) => {
    const pool = await testPool(t)
    await applied(t, pool, taken, [ledgerProjection], maxEvents)
    return { ...(await chainHead(pool)), passedOver: (await countPassedOver(pool)).get('ledger') }
  }
  const expected = { ...(await hashOf(once, 100)), passedOver: 3 }
  for (const maxEvents of [1, 2, 100])
    t.same(await hashOf(events, maxEvents), expected, `${maxEvents} at a time`)
})
