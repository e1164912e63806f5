import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { openTenant } from '../../../src/app/accounts/account-commands.ts'
import { decideProposal, grantCredit } from '../../../src/app/accounts/credit.ts'
import { setSetting } from '../../../src/app/accounts/settings.ts'
import { accountStream } from '../../../src/domain/account/events.ts'
import { proposalIdOf } from '../../../src/domain/account/proposal-state.ts'
import { catalog } from '../../../src/families/index.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { nodeArguments } from '../../helpers/checkout.ts'
import { testEventLog } from '../../helpers/eventstore.ts'

/** A process is killed while it proposes or approves: the next one finds at most one of each. */

const store = await testEventLog()
t.teardown(() => store.close())
const tenantId = 'tenant_1'
const deps = {
  log: store.log,
  catalog,
  clock: systemClock,
  correlationId: 'test',
  actor: 'next',
}
const person = (userId: string) => ({ tenantId: 'ops', userId, tokenId: `token_${userId}` })
const child = new URL('support/killed-child.ts', import.meta.url)

async function killed(
  what: 'propose' | 'approve',
  when: 'before' | 'after',
  input: object,
): Promise<string | null> {
  const order = [store.url, store.namespace, what, when, JSON.stringify(input)]
  const started = spawn(process.execPath, [...nodeArguments(child), ...order], { stdio: 'inherit' })
  const [, signal] = (await once(started, 'exit')) as [number | null, string | null]
  return signal
}

await openTenant(deps, { tenantId, name: 'T' })
const wanted = { limits: [{ currency: 'USD', above: '100' }], lapseHours: 1 } as const
await setSetting(deps, 'approvals', { tenantId, wanted })

for (const when of ['before', 'after'] as const)
  t.test(
    `a process is killed ${when} each append: there is one proposal and one posting`,
    async (t) => {
      const grantId = `killed_${when}`
      const terms = { tenantId, grantId, currency: 'USD', amount: '101', reason: 'r' } as const
      const asked = { ...terms, by: person('ann'), keyHash: `key_${when}` }
      t.equal(await killed('propose', when, asked), 'SIGKILL')
      const proposed = await grantCredit(deps, asked)
      t.match(proposed, { changed: when === 'before', proposal: { state: 'proposed' } })
      const proposalId = proposalIdOf(tenantId, grantId)
      const by = person('ben')
      const origins = { approver: { users: [by], secretMadeAt: '2026-01-01T00:00:00.000Z' } }
      const approval = { kind: 'approve', tenantId, proposalId, by, origins } as const
      t.equal(await killed('approve', when, approval), 'SIGKILL')
      t.match(await decideProposal(deps, approval), {
        changed: when === 'before',
        proposal: { state: 'approved', endedBy: { userId: 'ben' } },
      })
      t.match(await grantCredit(deps, asked), { changed: false, proposal: undefined })
      const events = await store.log.readStream(accountStream(tenantId), { limit: 100 })
      const own = events.filter(
        ({ data }) =>
          ('proposalId' in data && data.proposalId === proposalId) ||
          ('grantId' in data && data.grantId === grantId),
      )
      t.same(
        own.map(({ type }) => type),
        ['PostingProposed', 'PostingApproved', 'CreditGranted'],
      )
      const [, approved, posted] = own
      t.equal(approved?.metadata.commandId, posted?.metadata.commandId, 'in one append')
    },
  )
