import { setTimeout as sleep } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { RepeatedAnswer } from '../../../../src/app/calls/claims/types.ts'
import { createPresence } from '../../../../src/app/queue/presence.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { monotonicClock, systemClock } from '../../../../src/kernel/clock.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { newNamespace } from '../../../helpers/eventstore.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { keyedBy, startTextWorld, textInput } from '../support/text-world.ts'
import { mortal } from '../../support/mortality.ts'

const CHILD = new URL('../support/crash-child.ts', import.meta.url)
/** A key whose process is gone is free by then. */
const FREE_WITHIN_MS = 15_000
/** Longer than any lease of a key. */
const PATIENCE_MS = 75_000

const world = await startTextWorld(t)
const namespace = newNamespace()
const log = createEventLog({ url: world.store.url, namespace })
t.teardown(() => log.close())
const { calls } = await world.text({ log })
const observer = createPresence(
  { pool: world.pool, clock: systemClock, monotonic: monotonicClock, logger: silentLog },
  'observer',
  [],
)
const rounds = setInterval(() => void observer.round().catch(() => undefined), 1_000)
t.teardown(() => clearInterval(rounds))

function begin(key: string, sandbox: string, crashAt = '') {
  const prompt = `hello [[client=${key}]] [[sandbox ${sandbox}]]`
  const order = { crashAt, family: 'chat', streamed: false, key, prompt, isPresent: true }
  return { prompt, child: mortal(world, namespace, CHILD, order) }
}

const sent = (key: string) =>
  eventually('it is under way', async () => (await world.accepted(key)).length > 0)

/** The same request at this replica: its outcome. */
async function again(key: string, prompt: string): Promise<string> {
  try {
    const { callId } = await calls.complete({ ...textInput({ prompt }), ...keyedBy(key) })
    return callId
  } catch (error) {
    if (error instanceof RepeatedAnswer) return 'repeated'
    return isDomainError(error) ? error.code : String(error)
  }
}

/** Asks until the key is taken no more; its outcome and how long that took. */
async function freed(key: string, prompt: string) {
  const sinceMs = performance.now()
  for (;;) {
    const outcome = await again(key, prompt)
    const afterMs = performance.now() - sinceMs
    if (outcome !== 'idempotency_in_progress' || afterMs > PATIENCE_MS) return { outcome, afterMs }
    await sleep(200)
  }
}

async function settledOf(): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { type, data } of log.readAll())
    if (type === 'CallSettled') ids.push((data as { callId: string }).callId)
  return ids
}

t.test('a key whose process was killed is free within seconds', async (t) => {
  const { prompt, child } = begin('killed', 'first-byte-ms=9000')
  child.output.resume()
  await sent('killed')
  t.equal(await again('killed', prompt), 'idempotency_in_progress')
  child.kill()
  await child.ended
  const free = await freed('killed', prompt)
  t.match(free.outcome, /^call_/)
  // Nine of them are the call itself.
  const keptMs = free.afterMs - 9_000
  t.comment(`the key of a killed process was taken for ${Math.round(keptMs)} ms`)
  t.ok(keptMs < FREE_WITHIN_MS, `${Math.round(keptMs)} ms`)
  t.equal((await settledOf()).length, 1)
})

t.test('the key of a running call stays claimed as long as the call runs', async (t) => {
  const { prompt, child } = begin('slow', 'first-byte-ms=12000')
  child.output.resume()
  await sent('slow')
  // Longer than a lease goes without renewal, and shorter than the call by far.
  const fromMs = performance.now()
  while (performance.now() < fromMs + 8_000) {
    t.equal(await again('slow', prompt), 'idempotency_in_progress')
    await sleep(1_000)
  }
  t.equal(await child.ended, null)
  t.equal(await again('slow', prompt), 'repeated')
})

t.test('a frozen process that resumes finds its key taken and settles nothing', async (t) => {
  const before = (await settledOf()).length
  const { prompt, child } = begin('frozen', 'first-byte-ms=1000')
  const said = text(child.output)
  await sent('frozen')
  child.pause()
  const { outcome, afterMs } = await freed('frozen', prompt)
  t.match(outcome, /^call_/)
  t.ok(afterMs - 1_000 < FREE_WITHIN_MS, `${Math.round(afterMs)} ms`)
  child.resume()
  await child.ended
  t.match(await said, /"refused":"idempotency_in_progress"/, 'its caller is not answered')
  t.same((await settledOf()).slice(before), [outcome], 'one settlement, of the second')
})

t.test('a process frozen right before its append is the only one to settle', async (t) => {
  const before = (await settledOf()).length
  await world.pool.query(`
    create function public.slowly() returns trigger language plpgsql as
      $$ begin perform pg_sleep(2); return new; end $$;
    create trigger slow before update on ops.call_claims for each row
      when (new.may_be_settled and not old.may_be_settled) execute function public.slowly();`)
  const { prompt, child } = begin('appending', 'first-byte-ms=10')
  const said = text(child.output)
  await eventually('it says that it may be settled', async () => {
    const { rowCount } = await world.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
    )
    return rowCount === 1
  })
  child.pause()
  await world.pool.query('drop trigger slow on ops.call_claims; drop function public.slowly();')
  const { outcome } = await freed('appending', prompt)
  t.equal(outcome, 'idempotency_answer_not_kept', 'it is never made again')
  child.resume()
  await child.ended
  t.match(await said, /"ended":true/)
  t.equal((await settledOf()).length, before + 1)
})
