import t from 'tap'
import { foldLedger } from '../../../projections/ledger/fold/fold.ts'
import { createOwnership } from '../../../src/cli/replay/from-log.ts'
import { BalanceFold } from '../../../src/cli/replay/balances.ts'
import { movingTypes } from '../../../src/domain/any-event.ts'
import { formatAmount } from '../../../src/kernel/money.ts'
import { mixedHistory } from '../support/history.ts'

t.test('exactly these events move money', (t) => {
  t.same([...movingTypes].sort(), [
    'AdjustmentPosted',
    'CallSettled',
    'CreditGranted',
    'CreditLimitSet',
    'TaskCancelled',
    'TaskExpired',
    'TaskFailed',
    'TaskRequested',
    'TaskSettled',
    'TaskSubmissionRefused',
  ])
  t.end()
})

t.test('a replay has the balances of the ledger, after every event', (t) => {
  const events = mixedHistory(60)
  for (const tenantId of ['tenant_0', 'tenant_1']) {
    const owns = createOwnership(tenantId)
    const own = events.filter(owns)
    const replayed = new BalanceFold()
    for (const [index, event] of own.entries()) {
      replayed.addEvent(event)
      const { balances } = foldLedger(own.slice(0, index + 1), [])
      const expected = [...balances.values()]
        .sort((a, b) => a.currency.localeCompare(b.currency))
        .map(({ currency, granted, adjusted, settled, held, limit = 0n }) => ({
          currency,
          credit: formatAmount(granted + adjusted),
          settled: formatAmount(settled),
          held: formatAmount(held),
          limit: formatAmount(limit),
          available: formatAmount(granted + adjusted + limit - settled - held),
        }))
      t.same(JSON.parse(replayed.lines(true)[0] ?? ''), { balances: expected })
    }
    t.ok(own.length > 20, `${own.length} events of ${tenantId}`)
  }
  t.end()
})
