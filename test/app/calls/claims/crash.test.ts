import t from 'tap'
import { RepeatedAnswer } from '../../../../src/app/calls/claims/types.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { newNamespace } from '../../../helpers/eventstore.ts'
import { collect, keyedBy, startTextWorld, textInput } from '../support/text-world.ts'
import { mortal } from '../../support/mortality.ts'

const CHILD = new URL('../support/crash-child.ts', import.meta.url)
const world = await startTextWorld(t)
const namespace = newNamespace()
const log = createEventLog({ url: world.store.url, namespace })
t.teardown(() => log.close())
const { calls } = await world.text({ log })

/** Makes one call under a key in a process of its own, which is killed at a point. */
async function die(crashAt: string, key: string, streamed: boolean): Promise<unknown> {
  const prompt = `hello [[client=${key}]]`
  const child = mortal(world, namespace, CHILD, { crashAt, family: 'chat', streamed, key, prompt })
  child.output.resume()
  return await child.ended
}

/** The same again elsewhere: what its caller is told. */
async function again(key: string, streamed: boolean): Promise<string> {
  const input = { ...textInput({ prompt: `hello [[client=${key}]]` }), ...keyedBy(key) }
  try {
    if (streamed) await collect((await calls.stream(input)).frames)
    else await calls.complete(input)
    return 'made'
  } catch (error) {
    if (error instanceof RepeatedAnswer) return 'repeated'
    return isDomainError(error) ? error.code : String(error)
  }
}

async function settled(): Promise<number> {
  let count = 0
  for await (const { type } of log.readAll()) if (type === 'CallSettled') count += 1
  return count
}

const leasesEnd = () =>
  world.pool.query(`update ops.call_claims set lease_until = now() - interval '1 s'
                    where lease_until > now()`)

/** Their processes are not known to be gone yet, however long they took to start. */
const stayPresent = () =>
  world.pool.query(`insert into ops.workers (owner, seen_at)
                    select distinct owner, now() from ops.call_claims where owner is not null
                    on conflict do nothing`)

const IN_PROGRESS = 'idempotency_in_progress'
const NOT_KEPT = 'idempotency_answer_not_kept'

/** Where the first dies; what the same again is told at once, and once it is taken for dead. */
const deaths = [
  { at: 'claim.after-taken', now: IN_PROGRESS, later: 'made', upstream: 1, billed: 1 },
  { at: 'call.after-provider', now: IN_PROGRESS, later: 'made', upstream: 2, billed: 1 },
  // It was about to be settled: nobody can tell that it never will be.
  { at: 'call.before-append', now: IN_PROGRESS, later: NOT_KEPT, upstream: 1, billed: 0 },
  { at: 'call.after-append', now: IN_PROGRESS, later: NOT_KEPT, upstream: 1, billed: 1 },
  { at: 'claim.before-kept', now: IN_PROGRESS, later: NOT_KEPT, upstream: 1, billed: 1 },
  { at: 'claim.after-kept', now: 'repeated', later: 'repeated', upstream: 1, billed: 1 },
] as const

t.test('wherever a process dies, its key never makes a second charge', async (t) => {
  const all = [false, true].flatMap((streamed) =>
    deaths
      // A stream takes and keeps its key the same way; before and after its end are what is its own.
      .filter(({ at }) => !streamed || /^call\..*-(?:provider|append)$/.test(at))
      .map((death) => ({ ...death, streamed, key: `${death.at}${streamed ? '-streamed' : ''}` })),
  )
  const half = Math.ceil(all.length / 2)
  // So many at once as a small machine starts in time.
  for (const some of [all.slice(0, half), all.slice(half)])
    await Promise.all(
      some.map(async ({ at, key, streamed }) =>
        t.equal(await die(at, key, streamed), 'SIGKILL', key),
      ),
    )
  await stayPresent()
  for (const { key, streamed, now } of all) t.equal(await again(key, streamed), now, key)
  await leasesEnd()
  for (const { key, streamed, later, upstream } of all) {
    t.equal(await again(key, streamed), later, `${key}: later`)
    t.equal((await world.accepted(key)).length, upstream, `${key}: asked upstream`)
  }
  const billed = all.reduce((sum, one) => sum + one.billed, 0)
  t.equal(await settled(), billed)
})
