import { text } from 'node:stream/consumers'
import t from 'tap'
import { RepeatedAnswer } from '../../../../src/app/calls/claims/types.ts'
import { createPresence } from '../../../../src/app/queue/presence.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { newNamespace } from '../../../helpers/eventstore.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { keyedBy, startTextWorld, textInput } from '../support/text-world.ts'
import { mortal } from '../../support/mortality.ts'

const CHILD = new URL('../support/crash-child.ts', import.meta.url)
const world = await startTextWorld(t)
const namespace = newNamespace()
const log = createEventLog({ url: world.store.url, namespace })
t.teardown(() => log.close())
const { calls } = await world.text({ log })
/** Time of the process that looks at the heartbeats of the others: it passes only when a test says so. */
let nowMs = 0
const observer = createPresence(
  { pool: world.pool, clock: systemClock, monotonic: { nowMs: () => nowMs }, logger: silentLog },
  'observer',
  [],
)
/** A worker whose heartbeat has not changed for so long counts as dead. */
const SILENT_MS = 5_000
const HALF_MS = SILENT_MS / 2

function begin(key: string, sandbox: string) {
  const prompt = `hello [[client=${key}]] [[sandbox ${sandbox}]]`
  const order = { crashAt: '', family: 'chat', streamed: false, key, prompt, isPresent: true }
  return mortal(world, namespace, CHILD, order)
}

const sent = (key: string) =>
  eventually('it is under way', async () => (await world.accepted(key)).length > 0)

/** The same request at this replica, where upstream answers at once: its outcome. */
async function again(key: string): Promise<string> {
  try {
    const prompt = `hello [[client=${key}]]`
    const { callId } = await calls.complete({ ...textInput({ prompt }), ...keyedBy(key) })
    return callId
  } catch (error) {
    if (error instanceof RepeatedAnswer) return 'repeated'
    return isDomainError(error) ? error.code : String(error)
  }
}

/** A process that has just taken its key need not have a heartbeat yet; none of the keys is that new any more. */
const age = () =>
  world.pool.query(`update ops.call_claims set expires_at = expires_at - interval '1 minute'`)

/** Lets the heartbeats be silent until a key is taken no more; long before its lease ends. Its outcome. */
function freed(key: string): Promise<string> {
  return eventually('the key is free', async () => {
    await observer.round()
    nowMs += SILENT_MS
    await observer.round()
    const outcome = await again(key)
    return outcome === 'idempotency_in_progress' ? undefined : outcome
  })
}

async function settledOf(): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { type, data } of log.readAll())
    if (type === 'CallSettled') ids.push((data as { callId: string }).callId)
  return ids
}

t.test('the key of a process is claimed while it lives, and free once it is silent', async (t) => {
  const child = begin('killed', 'hang-after-accept')
  child.output.resume()
  await sent('killed')
  await age()
  const beat = async (): Promise<string> => {
    const { rows } = await world.pool.query<{ beat: string }>(
      `select seen_at::text as beat from ops.workers where owner <> 'observer'`,
    )
    return rows[0]?.beat ?? ''
  }
  // The beats of more time than that of a dead worker.
  for (let seenMs = 0; seenMs <= SILENT_MS; seenMs += HALF_MS) {
    const before = await beat()
    await eventually('a further heartbeat', async () => (await beat()) !== before)
    await observer.round()
    nowMs += HALF_MS
    t.equal(await again('killed'), 'idempotency_in_progress')
  }
  child.kill()
  await child.ended
  nowMs += HALF_MS - 1
  await observer.round()
  t.equal(await again('killed'), 'idempotency_in_progress', 'a little less than silent')
  t.match(await freed('killed'), /^call_/)
  t.equal((await settledOf()).length, 1)
})

t.test('a frozen process that resumes finds its key taken and settles nothing', async (t) => {
  const before = (await settledOf()).length
  const child = begin('frozen', 'first-byte-ms=3000')
  const said = text(child.output)
  await sent('frozen')
  child.pause()
  await age()
  const outcome = await freed('frozen')
  t.match(outcome, /^call_/)
  child.resume()
  await child.ended
  t.match(await said, /"refused":"idempotency_in_progress"/, 'its caller is not answered')
  t.same((await settledOf()).slice(before), [outcome], 'one settlement, of the second')
})

t.test('a process frozen right before its append is the only one to settle', async (t) => {
  const before = (await settledOf()).length
  const holder = await world.pool.connect()
  t.teardown(() => holder.release())
  await holder.query(`
    select pg_advisory_lock(1);
    create function public.waits() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger waits before update on ops.call_claims for each row
      when (new.may_be_settled and not old.may_be_settled) execute function public.waits();`)
  const child = begin('appending', 'first-byte-ms=10')
  const said = text(child.output)
  await eventually('it says that it may be settled', async () => {
    const { rowCount } = await world.pool.query(
      `select from pg_stat_activity where datname = current_database()
       and wait_event_type = 'Lock' and wait_event = 'advisory'`,
    )
    return rowCount === 1
  })
  child.pause()
  await holder.query('select pg_advisory_unlock(1)')
  await holder.query('drop trigger waits on ops.call_claims; drop function public.waits();')
  await age()
  const outcome = await freed('appending')
  t.equal(outcome, 'idempotency_answer_not_kept', 'it is never made again')
  child.resume()
  await child.ended
  t.match(await said, /"ended":true/)
  t.equal((await settledOf()).length, before + 1)
})
