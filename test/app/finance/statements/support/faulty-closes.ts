import type { Test } from 'tap'
import type { ClosedPeriod, MonthOf } from '../../../../../src/app/finance/statements/types.ts'
import { isDomainError } from '../../../../../src/kernel/errors.ts'
import { eventually } from '../../../../helpers/eventually.ts'
import { type ClosingWorld, shell } from './closing-world.ts'
import { createHandedOut } from './handed-out.ts'
import { postingsText } from './postings-text.ts'

/** Months that are closed over a log with faults, and the check that one close of each stands. */

const SIGNED = '2026-02-05T00:00:00Z'

export function createFaultyCloses(t: Test, world: ClosingWorld) {
  const { clock, statements } = world
  const handedOut = createHandedOut(t, world)

  /** Opens a tenant with a posting of January, which is over. */
  async function opened(tenantId: string) {
    clock.set('2026-01-10T00:00:00Z')
    await world.tenant(tenantId)
    await world.grant(tenantId, 'CNY', '100')
    await world.grant(tenantId, 'USD', '7')
    await world.call({ tenantId, currency: 'CNY', atMs: Date.parse('2026-01-20T00:00:00Z') })
    clock.set(SIGNED)
    return { tenantId, currency: 'CNY', month: '2026-01' } as const
  }

  /** Asks until there is an answer, a second later each time; the log has then been asked for all it will be. */
  async function closedAtLast(log: ClosingWorld['log'], of: MonthOf): Promise<ClosedPeriod> {
    const closing = world.statementsWith({ log })
    return eventually('the close', async () => {
      clock.set(clock.nowMs() + 1_000)
      try {
        return (await closing.close(of, shell)).period
      } catch (error) {
        const isUnanswered = (['log_outcome_unknown', 'log_unavailable'] as const).some((code) =>
          isDomainError(error, code),
        )
        if (!isUnanswered) throw error
        return undefined
      }
    })
  }

  /** One close of the month stands, which is what every reader gets, and both verifiers take. */
  async function checkClose(t: Test, period: ClosedPeriod): Promise<void> {
    const { tenantId, currency, month } = period
    const events = await world.log.readStream(`statements-${tenantId}`)
    const closes = events.flatMap(({ type, data }) => (type === 'PeriodClosed' ? [data] : []))
    const ours = closes.filter((data) => data.currency === currency && data.month === month)
    t.same(ours, [period], 'the answer is the only event')
    const numbers = closes.map(({ statement }) => statement)
    t.same(
      numbers,
      numbers.map((_, n) => `ACME-000${n + 1}`),
      'no number is used twice or left out',
    )
    await world.settle()
    const leaves = (await postingsText(statements, period)).split('\n').slice(0, -1)
    // Where the event is another closer's than the one that stored the tree, the tree is built again.
    const files = await eventually('the files', () =>
      handedOut.filesOf(period, leaves).catch((error: unknown) => {
        if (!isDomainError(error, 'read_model_behind')) throw error
        return undefined
      }),
    )
    t.match(JSON.parse(String(files.statement)), { proof: { checkpoint: period.checkpoint } })
    t.same(handedOut.verdicts(files), [undefined, true])
  }

  return { opened, closedAtLast, checkClose }
}
