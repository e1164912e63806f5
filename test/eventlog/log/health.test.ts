import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createHealth, type LogCall } from '../../../src/eventlog/log/health.ts'
import { defaultLimits, type EventLogLimits } from '../../../src/eventlog/log/limits.ts'
import { until } from '../../helpers/eventually.ts'

function healthOf(probe: (call: LogCall) => Promise<void>, limits: Partial<EventLogLimits> = {}) {
  const changes: boolean[] = []
  const health = createHealth({
    probe,
    limits: { ...defaultLimits, probeIntervalMs: 30, unhealthyAfterFailures: 2, ...limits },
    observer: { healthChanged: (healthy) => changes.push(healthy) },
  })
  return { health, changes }
}
const silence = () => new Promise<void>(() => undefined)

void t.test('one failure keeps the log healthy, two of a kind in a row do not', (t) => {
  const { health, changes } = healthOf(silence)
  health.failed('read')
  health.succeeded('read')
  health.failed('read')
  health.failed('append')
  t.equal(health.healthy(), true)
  health.failed('append')
  t.equal(health.healthy(), false)
  t.same(changes, [false])
  health.close()
  t.end()
})

void t.test('only an append shows that appends work, reads do not', async (t) => {
  const probed: LogCall[] = []
  const { health } = healthOf((call) => {
    probed.push(call)
    return call === 'append' ? Promise.reject(new Error('the disk is full')) : Promise.resolve()
  })
  for (const _ of [1, 2]) health.failed('append')
  for (const _ of [1, 2]) health.failed('read')
  await until(() => probed.filter((call) => call === 'append').length >= 3)
  health.succeeded('read')
  t.equal(health.healthy(), false, 'a full disk still answers reads')
  health.succeeded('append')
  t.equal(health.healthy(), true)
  health.close()
})

void t.test('the failed kind of call is probed until the log answers', async (t) => {
  const probed: LogCall[] = []
  const { health, changes } = healthOf((call) => {
    probed.push(call)
    return probed.length < 3 ? Promise.reject(new Error('not yet')) : Promise.resolve()
  })
  for (const _ of [1, 2]) health.failed('read')
  await until(() => health.healthy())
  t.same(probed, ['read', 'read', 'read'])
  t.same(changes, [false, true])
  await sleep(100)
  t.equal(probed.length, 3, 'and not any more')
  health.close()
})

void t.test('early in an outage callers wait for its end, within a bound', async (t) => {
  const { health } = healthOf(silence, { outagePatienceMs: 400, maxWaitingCallers: 2 })
  await health.admit()
  for (const _ of [1, 2]) health.failed('append')
  const waiting = [health.admit(), health.admit()]
  await t.rejects(health.admit(), { code: 'log_unavailable' }, 'no more than a bounded number')
  health.succeeded('append')
  await Promise.all(waiting)

  for (const _ of [1, 2]) health.failed('append')
  await t.rejects(health.admit(), { code: 'log_unavailable' }, 'its patience ends')
  // A timer may end a fraction of a millisecond before its time.
  await sleep(5)
  const refused = health.admit().catch((error: { readonly code: string }) => error.code)
  t.equal(await Promise.race([refused, nextTurn('waits')]), 'log_unavailable', 'no caller waits')
  health.close()
})

void t.test('closing rejects the callers that wait', async (t) => {
  const { health } = healthOf(silence, { outagePatienceMs: 60_000 })
  for (const _ of [1, 2]) health.failed('read')
  const waiting = health.admit()
  health.close()
  await t.rejects(waiting, { code: 'log_unavailable' })
})

void t.test('a refused account is reported until it is accepted', (t) => {
  const { health } = healthOf(silence)
  health.denied('append', 'no right to write')
  t.equal(health.healthy(), false, 'at once: no further try changes it')
  t.equal(health.denial(), 'append: no right to write')
  health.failed('append')
  t.equal(health.denial(), undefined, 'an unavailable log is no refusal')
  health.denied('append', 'no right to write')
  health.succeeded('append')
  t.equal(health.denial(), undefined)
  t.equal(health.healthy(), true)
  health.close()
  t.end()
})
