import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { type Asking, families, type Heard, terminal } from './support/caller.ts'
import { fullFile, isEmpty, isSpooled, recordsOf, tear } from './support/store.ts'
import { traffic } from './support/load.ts'
import { startTextWorld } from './support/world.ts'

const world = await startTextWorld('outages')
t.teardown(() => world.close())
t.comment(`FAULTS_SEED=${world.seed}`)
const { dice, store } = world
const machine = world.machine('gateway')
const spool = world.spoolOf('gateway')
const calls = traffic(dice.fork('traffic'), 'o')
const died = new Set<string>()
const destroyed = new Set<string>()

const STREAMS = 12

/**
 * Streams under way: every one has its first frame and none its last. `tooEarly` gets those whose
 * last frame came while no record of them was on disk.
 */
async function underWay(wordsOf = (_index: number) => dice.integer(15, 35)): Promise<{
  readonly askings: readonly Asking[]
  readonly heard: Promise<readonly Heard[]>
  readonly tooEarly: readonly string[]
}> {
  const tooEarly: string[] = []
  const ended = new Set<string>()
  let begun = 0
  const askings: Asking[] = []
  const heard = Array.from({ length: STREAMS }, (_none, index) => {
    const family = families[index % families.length] ?? 'chat'
    let hasBegun = false
    const asking = calls.next({
      family,
      streamed: true,
      // Long enough for all to have begun, and each ends at a time of its own.
      switches: `words=${wordsOf(index)} frame-ms=100`,
      webSearch: false,
      onText: (text, callId = '') => {
        if (!hasBegun) begun += 1
        hasBegun = true
        if (ended.has(callId) || !terminal[family].test(text)) return
        ended.add(callId)
        if (!isSpooled(spool, callId)) tooEarly.push(callId)
      },
    })
    askings.push(asking)
    return world.call(machine, asking)
  })
  await eventually('every stream has begun', () => begun === STREAMS)
  if (ended.size > 0) throw new Error('a stream ended before the fault')
  return { askings, heard: Promise.all(heard), tooEarly }
}

async function isReady(): Promise<boolean> {
  const response = await fetch(`${machine.address ?? ''}/readyz`)
  await response.body?.cancel()
  return response.ok
}

await t.test('the log dies under streams: they are spooled, then billed once', async (t) => {
  t.equal(await machine.start(), 'ready')
  const { heard, tooEarly } = await underWay()
  await store.kill9()
  for (const one of await heard)
    t.ok(one.delivered && one.ended === 'whole', `${one.asking.marker}: ${one.status} ${one.ended}`)
  t.same(tooEarly, [], 'no last frame before its record was on disk')

  await eventually('the gateway says it is not ready', async () => !(await isReady()))
  const refused = families.flatMap((family) =>
    [true, false].map((streamed) => world.call(machine, calls.next({ family, streamed }))),
  )
  for (const { asking, status, text, callId } of await Promise.all(refused)) {
    t.equal(status, 503, `${asking.family}: ${text}`)
    const usual = { code: 'service_unavailable' }
    const wanted = {
      chat: usual,
      responses: usual,
      native: { code: 503, status: 'UNAVAILABLE' },
      messages: { type: 'overloaded_error', details: { error_code: 'service_unavailable' } },
    }[asking.family]
    t.match(JSON.parse(text), { error: { ...wanted, message: /nothing was started/ } })
    t.notOk(callId)
    const reached = (await world.upstream.calls()).map(({ client_marker }) => client_marker)
    t.notOk(reached.includes(asking.marker), 'nothing reached upstream')
  }

  await store.restart()
  await eventually('the spool is drained', () => isEmpty(spool))
  await eventually('the gateway is ready again', isReady)
  t.same((await world.account()).differences, [])
})

await t.test(
  'the log hangs under streams, loses its answers, the gateway dies as it drains',
  async (t) => {
    const { heard, askings, tooEarly } = await underWay()
    store.freeze()
    for (const { delivered, ended, asking } of await heard)
      t.ok(delivered && ended === 'whole', `${asking.marker} ${ended}`)
    t.same(tooEarly, [], 'no last frame before its record was on disk')
    t.notOk(isEmpty(spool))
    // What it is sent from now on it keeps and does not say so: the next life sends it again.
    store.loseAnswers(true)
    store.thaw()
    const killedAfterMs = dice.integer(0, 400)
    await sleep(killedAfterMs)
    machine.kill('gateway')
    await machine.ended
    t.comment(`killed ${killedAfterMs} ms after`)
    t.notOk(isEmpty(spool), 'not drained yet')
    store.loseAnswers(false)
    t.equal(await machine.start(), 'ready')
    await eventually('the spool is drained', () => isEmpty(spool))
    const found = await world.account()
    t.same(found.differences, [])
    t.ok(found.delivered >= 2 * askings.length)
  },
)

await t.test('a spool with a torn record: every record before it is billed once', async (t) => {
  // The first make the log's absence known, which takes seconds; then each has a record of its own.
  const { heard, askings } = await underWay((index) => (index < 3 ? 15 : 50 + 3 * index))
  await store.kill9()
  await eventually(
    'there are records to tear',
    () => !isEmpty(spool) && recordsOf(fullFile(spool)).length > 2,
  )
  machine.kill('gateway')
  await heard
  for (const { marker } of askings) died.add(marker)

  const path = fullFile(spool)
  const records = recordsOf(path)
  const torn = dice.integer(1, records.length - 1)
  const { start, end } = records[torn] ?? { start: 0, end: 0 }
  const cut = dice.integer(start + 1, end - 1)
  tear(path, cut)
  for (const { callIds } of records.slice(torn)) for (const id of callIds) destroyed.add(id)
  t.comment(`${records.length} records, cut at byte ${cut}, in record ${torn + 1}`)

  await store.restart()
  t.equal(await machine.start(), 'ready')
  await eventually('the spool is drained', () => isEmpty(spool))
  t.match(await readFile(world.logFileOf('gateway'), 'utf8'), 'spool ended in a torn record')
  const found = await world.account({ died, destroyed })
  t.same(found.differences, [])
  const billed = new Set((await world.logged()).map(({ callId }) => callId))
  const before = records.slice(0, torn).flatMap(({ callIds }) => callIds)
  t.same(
    before.filter((id) => !billed.has(id)),
    [],
    'everything before it is billed',
  )
  t.same(
    [...destroyed].filter((id) => billed.has(id)),
    [],
    'nothing of it is',
  )
  t.comment(`${found.unbilled.length} accepted upstream and not billed`)
})

await t.test('ledger and provider agree after the outages', async (t) => {
  const heard = await Promise.all(
    Array.from({ length: 6 }, () => world.call(machine, calls.next())),
  )
  for (const one of heard) t.ok(one.delivered, `${one.asking.marker}: ${one.status} ${one.text}`)
  t.same((await world.account({ died, destroyed })).differences, [])
  t.same(await world.ledgerFaults(machine), [])
  const { exitCode, output } = await machine.command(['audit'])
  t.equal(exitCode, 0, output)
  await machine.stop()
})
