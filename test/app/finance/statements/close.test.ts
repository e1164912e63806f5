import t from 'tap'
import type { ClosedPeriod, Statements } from '../../../../src/app/finance/statements/types.ts'
import { postingsText } from './support/postings-text.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { openNote, readCheckpoint } from '../../../../src/kernel/signed-note.ts'
import { shell, signer, startClosingWorld } from './support/closing-world.ts'

const world = await startClosingWorld(t)
const { statements, clock } = world

t.test(
  'a month is closed with its figures, and the next one begins with its balance',
  async (t) => {
    const tenantId = 'tenant_first'
    clock.set('2026-01-10T00:00:00Z')
    await world.tenant(tenantId)
    await world.grant(tenantId, 'CNY', '100')
    await world.grant(tenantId, 'CNY', '5', 'promotional')
    const [line = ''] = await world.call({
      tenantId,
      currency: 'CNY',
      atMs: Date.parse('2026-01-20T00:00:00Z'),
      lines: [{}, { sku: 'text-output', price: '2' }],
    })
    await world.settle()
    clock.set('2026-02-04T12:00:00Z')
    const january = { tenantId, currency: 'CNY', month: '2026-01' } as const
    const { period, created } = await statements.close(january, shell)
    t.equal(created, true)
    t.match(period, {
      statement: 'ACME-0001',
      n: 1,
      attempt: 1,
      timeZone: 'Asia/Shanghai',
      from: '2026-01-01T00:00:00+08:00',
      to: '2026-02-01T00:00:00+08:00',
      opening: '0',
      granted: { paid: '100', promotional: '5' },
      adjusted: { usage: '0', grants: '0' },
      settled: '-0.0025',
      closing: '104.9975',
      lines: 2,
      postings: 4,
      late: 0,
      sums: [
        { sku: 'text-basic', unit: 'token', quantity: 1_000, amount: '0.0005', lines: 1 },
        { sku: 'text-output', unit: 'token', quantity: 1_000, amount: '0.002', lines: 1 },
      ],
      refunds: [],
    })
    const head = readCheckpoint(openNote(period.checkpoint, [signer.vkey]))
    t.equal(head.origin, `gateway.example/${tenantId}/CNY/2026-01/1`)
    t.equal(head.size, 5)
    t.equal(head.root.toString('base64'), period.root)
    t.equal((await statements.close(january, shell)).created, false, 'again is the same close')

    clock.set('2026-02-10T00:00:00Z')
    await world.refund(tenantId, 'CNY', line, '0.0002')
    const lateMs = Date.parse('2026-01-30T00:00:00Z')
    const [late] = await world.call({ tenantId, currency: 'CNY', atMs: lateMs })
    await world.settle()
    clock.set('2026-03-05T00:00:00Z')
    const next = await statements.close({ ...january, month: '2026-02' }, shell)
    t.match(next.period, {
      statement: 'ACME-0002',
      n: 2,
      opening: '104.9975',
      from: '2026-02-01T00:00:00+08:00',
      adjusted: { usage: '0.0002' },
      settled: '-0.0005',
      closing: '104.9972',
      late: 1,
      lines: 1,
      postings: 2,
      refunds: [{ statement: 'ACME-0001', amount: '0.0002', postings: 1 }],
      previous: { n: 1, root: period.root },
    })
    const { rows } = await world.pool.query<{ period_id: string; line_id: string }>(
      `select period_id, line_id from ops.period_late p join ledger.lines using (seq)
       where p.tenant_id = $1`,
      [tenantId],
    )
    t.same(rows, [{ period_id: 'CNY/2/1', line_id: late }])
  },
)

const CNY = 'CNY'

/** A tenant with credit, opened in January. */
async function opened(tenantId: string, billing?: Parameters<typeof world.tenant>[1]) {
  clock.set('2026-01-10T00:00:00Z')
  await world.tenant(tenantId, billing)
  await world.grant(tenantId, CNY, '100')
}

t.test('two closers at once make one close', async (t) => {
  const tenantId = 'tenant_two'
  await opened(tenantId)
  clock.set('2026-02-05T00:00:00Z')
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  // Requests that come at once are joined within one of them only, as within one process.
  const closers = Array.from({ length: 4 }, () => world.statementsWith({}))
  const closed = await Promise.all(
    closers.map((of, n) => of.close(january, { ...shell, correlationId: `req_${n}` })),
  )
  t.equal(closed.filter(({ created }) => created).length, 1)
  t.equal(new Set(closed.map(({ period }) => JSON.stringify(period))).size, 1)
  const events = await world.log.readStream(`statements-${tenantId}`)
  t.equal(events.length, 1)
})

t.test('a close whose append had no answer is the same close when it is asked again', async (t) => {
  const tenantId = 'tenant_unanswered'
  await opened(tenantId)
  clock.set('2026-02-05T00:00:00Z')
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  const { log } = world
  for (const reaches of [false, true]) {
    const append: typeof log.append = async (...args) => {
      if (reaches) await log.append(...args)
      throw new DomainError('log_outcome_unknown', 'no answer', {})
    }
    const cut = world.statementsWith({ log: { ...log, append } })
    await t.rejects(cut.close(january, shell), { code: 'log_outcome_unknown' })
  }
  clock.set('2026-02-06T00:00:00Z')
  const { period, created } = await statements.close(january, shell)
  t.equal(created, false)
  t.equal(period.closedAt, '2026-02-05T00:00:00.000Z')
  t.equal((await log.readStream(`statements-${tenantId}`)).length, 1)
})

t.test('a change of the zone leaves no hour out and has none twice', async (t) => {
  const tenantId = 'tenant_zone'
  await opened(tenantId)
  const end = Date.parse('2026-01-31T16:00:00Z')
  await world.call({ tenantId, currency: CNY, atMs: end - 1 })
  await world.call({ tenantId, currency: CNY, atMs: end })
  clock.set('2026-02-05T00:00:00Z')
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  const first = await statements.close(january, shell)
  t.match(first.period, { to: '2026-02-01T00:00:00+08:00', lines: 1 })
  await world.billing(tenantId, { timeZone: 'America/New_York' })
  clock.set('2026-03-05T00:00:00Z')
  const { period } = await statements.close({ ...january, month: '2026-02' }, shell)
  t.match(period, {
    timeZone: 'America/New_York',
    from: '2026-02-01T00:00:00+08:00',
    to: '2026-03-01T00:00:00-05:00',
    lines: 1,
    late: 0,
  })
})

t.test('two currencies closed at once have numbers without a gap', async (t) => {
  const tenantId = 'tenant_currencies'
  await opened(tenantId)
  await world.grant(tenantId, 'USD', '7')
  clock.set('2026-02-05T00:00:00Z')
  const closed = await Promise.all(
    (['CNY', 'USD'] as const).map((currency) =>
      world.statementsWith({}).close({ tenantId, currency, month: '2026-01' }, shell),
    ),
  )
  t.same(closed.map(({ period }) => period.statement).toSorted(), ['ACME-0001', 'ACME-0002'])
})

t.test('an empty month is closed, and one of a tenant that is suspended or renamed', async (t) => {
  const tenantId = 'tenant_empty'
  await opened(tenantId)
  clock.set('2026-05-05T00:00:00Z')
  const periods: ClosedPeriod[] = []
  const until = { tenantId, currency: CNY, until: '2026-04' } as const
  for await (const period of statements.closeUntil(until, shell)) {
    periods.push(period)
    await world.rename(tenantId, `renamed after ${period.month}`)
    if (period.month === '2026-02') await world.setStatus(tenantId, 'suspended')
  }
  t.same(
    periods.map(({ month, postings, closing }) => [month, postings, closing]),
    [
      ['2026-01', 1, '100'],
      ['2026-02', 0, '100'],
      ['2026-03', 0, '100'],
      ['2026-04', 0, '100'],
    ],
  )
  for await (const period of statements.closeUntil(until, shell)) t.fail(period.month)
})

t.test('usage of more than a thousand SKUs has a row for the rest', async (t) => {
  const tenantId = 'tenant_skus'
  await opened(tenantId)
  const atMs = Date.parse('2026-01-20T00:00:00Z')
  for (let n = 0; n < 13; n += 1) {
    const lines = Array.from({ length: 80 }, (_, k) => {
      return { sku: `sku_${String(n * 80 + k).padStart(4, '0')}`, quantity: 1_000 + n * 80 + k }
    })
    await world.call({ tenantId, currency: CNY, atMs: atMs + n, lines })
  }
  clock.set('2026-02-05T00:00:00Z')
  const { period } = await statements.close({ tenantId, currency: CNY, month: '2026-01' }, shell)
  t.equal(period.sums.length, 1_000)
  t.match(
    period.sums.at(0),
    { sku: 'sku_0041', quantity: 1_041, lines: 1 },
    'the least are in the rest',
  )
  t.match(period.sums.at(-1), { sku: 'other', unit: null, quantity: null, lines: 41 })
  t.equal(period.lines, 1_040)
})

t.test(
  'a database that is built again from the log has the same statements, postings and proofs',
  async (t) => {
    const tenantId = 'tenant_rebuilt'
    await opened(tenantId)
    const atMs = Date.parse('2026-01-20T00:00:00Z')
    let line = ''
    for (let n = 0; n < 300; n += 1) {
      const [id = ''] = await world.call({
        tenantId,
        currency: CNY,
        atMs: atMs + n,
        lines: [{}, {}],
      })
      if (n === 200) line = id
    }
    clock.set('2026-02-05T00:00:00Z')
    const january = { tenantId, currency: CNY, month: '2026-01' } as const
    await statements.close(january, shell)
    await world.billing(tenantId, { legalName: 'Acme, renamed since' })
    const handedOut = async (of: Statements) => ({
      postings: await postingsText(of, january),
      close: await of.proofOfClose(january),
      line: await of.proofOfLine({ tenantId, lineId: line }),
    })
    await world.settle()
    const before = await handedOut(statements)
    t.equal(before.postings.split('\n').length, 603)

    await world.pool.query('delete from ops.period_tiles where tenant_id = $1', [tenantId])
    await t.rejects(statements.proofOfLine({ tenantId, lineId: line }), {
      code: 'read_model_behind',
    })
    await eventually('the tiles are there again', () =>
      statements.proofOfLine({ tenantId, lineId: line }).then(
        () => true,
        () => false,
      ),
    )
    t.same(await handedOut(statements), before)
    await world.pool.query(
      `update ops.period_tiles set root = (select root from ops.period_tiles where tile = 1 and tenant_id = $1)
     where tenant_id = $1 and tile = 2`,
      [tenantId],
    )
    await t.rejects(statements.proofOfLine({ tenantId, lineId: line }), {
      code: 'read_model_behind',
    })

    const rebuilt = await world.rebuilt(t)
    await t.rejects(rebuilt.proofOfClose(january), { code: 'read_model_behind' })
    await eventually('the tiles are built', () =>
      rebuilt.proofOfClose(january).then(
        () => true,
        () => false,
      ),
    )
    t.same(await handedOut(rebuilt), before)
  },
)

t.test('a void month keeps its postings and its proof, whatever is closed again', async (t) => {
  const tenantId = 'tenant_void'
  await opened(tenantId)
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  const february = { ...january, month: '2026-02' }
  const call = (time: string) => world.call({ tenantId, currency: CNY, atMs: Date.parse(time) })
  await call('2026-01-20T00:00:00Z')
  clock.set('2026-02-05T00:00:00Z')
  await statements.close(january, shell)
  await call('2026-01-30T00:00:00Z')
  await call('2026-02-20T00:00:00Z')
  clock.set('2026-03-05T00:00:00Z')
  t.match((await statements.close(february, shell)).period, { lines: 2, late: 1 })
  await world.settle()
  const handedOut = async () => [
    await postingsText(statements, february),
    await statements.proofOfClose(february),
  ]
  const before = await handedOut()
  await world.voidLast(tenantId, CNY, '2026-02')
  await world.voidLast(tenantId, CNY, '2026-01')
  const again = await statements.close(january, shell)
  t.match(again.period, { attempt: 2, statement: 'ACME-0003', lines: 2, late: 0 })
  await world.settle()
  t.same(await handedOut(), before)
})

t.test('a proof names the lines that have none', async (t) => {
  const tenantId = 'tenant_proofs'
  await opened(tenantId)
  const [line = ''] = await world.call({
    tenantId,
    currency: CNY,
    atMs: Date.parse('2026-01-20T00:00:00Z'),
  })
  await world.settle()
  await t.rejects(statements.proofOfLine({ tenantId, lineId: line }), { code: 'line_open' })
  await t.rejects(statements.proofOfLine({ tenantId: 'tenant_first', lineId: line }), {
    code: 'line_not_found',
  })
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  await t.rejects(statements.proofOfClose(january), { code: 'period_not_found' })
  await t.rejects(postingsText(statements, january), { code: 'period_not_found' })
})

t.test('postings that are not those of the totals stop a close', async (t) => {
  const tenantId = 'tenant_damaged'
  await opened(tenantId)
  const atMs = Date.parse('2026-01-20T00:00:00Z')
  await world.call({ tenantId, currency: CNY, atMs })
  await world.settle()
  await world.pool.query(
    'update ledger.lines set amount = amount + 0.000000000001 where tenant_id = $1',
    [tenantId],
  )
  clock.set('2026-02-05T00:00:00Z')
  await t.rejects(statements.close({ tenantId, currency: CNY, month: '2026-01' }, shell), {
    code: 'period_sum',
    message: /settled, sums/,
  })
  // The first hours of a month in Shanghai are totals of hours to the one sum, of a day of UTC to the other.
  await world.call({ tenantId, currency: CNY, atMs: Date.parse('2025-12-31T20:00:00Z') })
  await world.settle()
  await world.pool.query('delete from ledger.summed_hours where tenant_id = $1', [tenantId])
  await t.rejects(statements.preview({ tenantId, currency: CNY, month: '2026-01' }), {
    code: 'period_sum',
  })
  t.equal((await world.log.readStream(`statements-${tenantId}`)).length, 0)
})
