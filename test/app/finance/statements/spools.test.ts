import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { giveUpLostSpools } from '../../../../src/app/spending/lost-spools.ts'
import { reportSpending, spoolEmptied } from '../../../../src/app/spending/replica-reports.ts'
import { createJournal, newInstanceId } from '../../../../src/eventlog/journal/journal.ts'
import { openSpool } from '../../../../src/eventlog/journal/spool.ts'
import { logUnavailable } from '../../../../src/eventlog/log/errors.ts'
import type { EventLog } from '../../../../src/eventlog/log/types.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { newId } from '../../../../src/kernel/ids.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { formatAmount, parseAmount } from '../../../../src/kernel/money.ts'
import { until } from '../../../helpers/eventually.ts'
import { settledCall, shell, startClosingWorld } from './support/closing-world.ts'

/** Settlements that a replica kept while the log was away, in a month that is closed. */

const world = await startClosingWorld(t)
const { statements, clock, pool } = world
const directory = await mkdtemp(join(tmpdir(), 'tollgate-spools-'))
t.teardown(() => rm(directory, { recursive: true }))
const CNY = 'CNY'
const DATED = '2026-01-20T00:00:00Z'
const AMOUNT = '0.0005'

/** The journal of a process that starts over the spool of a tenant's calls. */
async function startJournal(tenantId: string, log: EventLog) {
  const instanceId = newInstanceId(systemClock.nowMs())
  const parts = { instanceId, logger: silentLog }
  const spool = await openSpool({
    directory: join(directory, tenantId),
    clock: systemClock,
    ...parts,
  })
  return createJournal({ log, spool, ...parts })
}

/** Settles a call in January while the log is away, by a process that then ends; gives its line. */
async function settledIntoSpool(tenantId: string): Promise<string> {
  clock.set('2026-01-10T00:00:00Z')
  await world.tenant(tenantId)
  await world.grant(tenantId, CNY, '100')
  const append = () => Promise.reject(logUnavailable('a fault of the test'))
  const journal = await startJournal(tenantId, { ...world.log, append })
  const callId = newId('call', clock.nowMs())
  const call = { tenantId, currency: CNY, atMs: Date.parse(DATED) } as const
  const commanded = { correlationId: callId, commandId: callId, tenantId }
  await journal.record(settledCall(callId, call), commanded)
  await journal.close()
  await world.settle()
  return `${callId}:1`
}

/** A process finds the spool again, and the log takes what is in it. */
async function comesBack(tenantId: string): Promise<void> {
  const journal = await startJournal(tenantId, world.log)
  await until(() => journal.spooled() === 0)
  await journal.close()
  await spoolEmptied(pool, `spool_of_${tenantId}`)
  await world.settle()
}

const report = (tenantId: string) =>
  reportSpending(pool, { replica: `replica_of_${tenantId}`, turn: 1 }, [
    {
      name: tenantId,
      unit: CNY,
      held: 0n,
      settled: parseAmount(AMOUNT),
      position: undefined,
      spool: `spool_of_${tenantId}`,
    },
  ])

t.test('a month is not closed while a line of it is known to wait in a spool', async (t) => {
  const tenantId = 'tenant_waiting'
  await settledIntoSpool(tenantId)
  await report(tenantId)
  clock.set('2026-02-05T00:00:00Z')
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  const waits = { code: 'period_blocked', details: { blockers: [{ code: 'spool_waiting' }] } }
  await t.rejects(statements.close(january, shell), waits)
  t.match((await statements.preview(january)).period, { lines: 0, accruals: { unstated: AMOUNT } })
  await pool.query(
    `update ops.text_spending set told_at = now() - interval '1 day' where tenant_id = $1`,
    [tenantId],
  )
  await t.rejects(statements.close(january, shell), waits, 'also of a replica that is silent')
  await comesBack(tenantId)
  const { period } = await statements.close(january, shell)
  t.match(period, { lines: 1, late: 0, settled: `-${AMOUNT}`, accruals: { unstated: '0' } })
})

/** How a month is closed while a line of it waits in a spool that nobody knows of. */
const unknown = {
  'of which its replica reported nothing': () => Promise.resolve(),
  'that was given up': async (t: Test, tenantId: string) => {
    await report(tenantId)
    await pool.query(
      `update ops.text_spending set told_at = now() - interval '8 days' where tenant_id = $1`,
      [tenantId],
    )
    const given = await giveUpLostSpools(pool, world.log)
    t.match(given, [{ type: 'SpoolGivenUp', data: { tenantId, amount: AMOUNT } }])
  },
}

for (const [words, lost] of Object.entries(unknown))
  t.test(`a line that comes back from a spool ${words} is late in the next month`, async (t) => {
    const tenantId = `tenant_${words.replaceAll(' ', '_')}`
    const lineId = await settledIntoSpool(tenantId)
    await lost(t, tenantId)
    clock.set('2026-02-05T00:00:00Z')
    const january = { tenantId, currency: CNY, month: '2026-01' } as const
    const first = await statements.close(january, shell)
    t.match(first.period, { lines: 0, closing: '100' })
    await comesBack(tenantId)
    t.same((await statements.close(january, shell)).period, first.period, 'the close stays')

    clock.set('2026-03-05T00:00:00Z')
    await world.call({ tenantId, currency: CNY, atMs: Date.parse('2026-02-20T00:00:00Z') })
    await world.call({ tenantId, currency: CNY, atMs: Date.parse('2026-03-03T00:00:00Z') })
    await world.settle()
    const second = await statements.close({ ...january, month: '2026-02' }, shell)
    t.match(second.period, { opening: '100', lines: 2, late: 1, closing: '99.999' })
    await world.settle()
    const { rows: late } = await pool.query<{ period_id: string; line_id: string }>(
      `select period_id, line_id from ops.period_late p join ledger.lines using (seq)
       where p.tenant_id = $1`,
      [tenantId],
    )
    t.same(late, [{ period_id: 'CNY/2/1', line_id: lineId }])
    const open = await statements.preview({ ...january, month: '2026-03' })
    const movedPico = [first.period, second.period, open.period].map(
      ({ granted, settled }) => parseAmount(granted.paid) + parseAmount(settled),
    )
    const { rows } = await pool.query<{ balance: string }>(
      `select trim_scale(granted + adjusted - settled)::text as balance from ledger.balances
       where tenant_id = $1`,
      [tenantId],
    )
    t.equal(rows[0]?.balance, formatAmount(movedPico.reduce((sum, pico) => sum + pico)))
  })
