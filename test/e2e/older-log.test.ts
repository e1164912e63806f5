import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { allProjections } from '../../projections/registry.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { isDomainError } from '../../src/kernel/errors.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { pause } from '../../src/kernel/pause.ts'
import { eventually } from '../helpers/eventually.ts'
import { startLocalEventStore } from '../helpers/eventstore.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'

/**
 * An operator puts an older log back, and builds the read models from it, while the gateway runs. What the gateway
 * remembers is in no log any more, so it neither sells nor posts until a new process takes its place.
 */

const eventStore = await startLocalEventStore()
const stack = await startStack({ eventStore })
t.teardown(() => stack.stop())
const { demo, access } = stack
const INVOICE = {
  tenantId: demo.tenantId,
  grantId: 'INV-78',
  currency: 'USD',
  amount: '78',
  reason: 'invoice 78',
} as const

const chat = async (url: string): Promise<number> => {
  const { status } = await call(`${url}/v1/chat/completions`, {
    token: demo.modelToken,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }),
  })
  return status
}

t.test('what a gateway remembers of a log that went back is not acted upon', async (t) => {
  const older = await mkdtemp(join(tmpdir(), 'tollgate-older-'))
  t.teardown(() => rm(older, { recursive: true, force: true }))
  t.equal(await chat(stack.url), 200)
  await stack.caughtUp()
  await eventStore.copyTo(older)

  t.match(await grantCredit(access, INVOICE), { changed: true })
  t.match(await grantCredit(access, INVOICE), { changed: false }, 'a repetition')
  await stack.caughtUp()

  await eventStore.serveFrom(older)
  const readiness = await eventually('it is refused', async () => {
    const answer = await call(`${stack.url}/readyz`)
    return answer.status === 503 ? answer : undefined
  })
  t.match(readiness.body.reasons, [/^event_log is older than the database/])
  const names = allProjections.map(({ name }) => name)
  // What lacks something for a moment only is a node that was behind.
  await pause(6_000)
  const rebuilt = await tollgate(['rebuild', ...names, '--force'], environmentOf(stack))
  t.equal(rebuilt.code, 0, rebuilt.stderr)
  await eventually('it ends, to be started again', async () => stack.startsAgain[0])
  t.equal(await chat(stack.url), 503)
  const refused = await grantCredit(access, INVOICE).catch((error: unknown) => error)
  t.ok(isDomainError(refused, 'log_unavailable'), 'and the lost grant is not taken for posted')

  await stack.gateway.stop()
  const next = await stack.replica(undefined, { dataDir: stack.dataDir })
  t.equal(await chat(next.url), 200)
  const again = { ...access, log: next.gateway.log }
  t.match(await grantCredit(again, INVOICE), { changed: true }, 'posted again by a new process')
  t.same(next.startsAgain, [])
})
