import { decideProposal, grantCredit } from '../../../../src/app/accounts/credit.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import type { EventLog } from '../../../../src/eventlog/log/types.ts'
import { catalog } from '../../../../src/families/index.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'

/**
 * Proposes or approves, and is killed just before or just after its append:
 * `killed-child.ts URL NAMESPACE propose|approve before|after INPUT`.
 */
const [, , url = '', namespace = '', what, when, input = '{}'] = process.argv
const log = createEventLog({ url, namespace })
const die = (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}
const mortal: EventLog = {
  ...log,
  append: async (...given) => {
    if (when === 'before') return die()
    await log.append(...given)
    return die()
  },
}
const deps = {
  log: mortal,
  catalog,
  clock: systemClock,
  correlationId: 'test',
  actor: 'killed',
}
if (what === 'propose') await grantCredit(deps, JSON.parse(input))
else await decideProposal(deps, JSON.parse(input))
