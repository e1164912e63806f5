import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createHealth } from '../../src/eventlog/health.ts'
import { defaultLimits } from '../../src/eventlog/limits.ts'

function healthOf(probe: () => Promise<void>) {
  const changes: boolean[] = []
  const health = createHealth({
    probe,
    limits: { ...defaultLimits, probeIntervalMs: 30, unhealthyAfterFailures: 2 },
    observer: { healthChanged: (healthy) => changes.push(healthy) },
  })
  return { health, changes }
}
const silence = () => new Promise<void>(() => undefined)

void t.test('one failure is none, two in a row are', async (t) => {
  const { health, changes } = healthOf(silence)
  health.failed('read')
  health.succeeded('read')
  health.failed('read')
  t.equal(health.healthy(), true)
  health.failed('append')
  t.equal(health.healthy(), false)
  t.same(changes, [false])
  health.close()
})

void t.test(
  'an append that works ends it at once, a read only when appends had time',
  async (t) => {
    const { health } = healthOf(silence)
    for (const _ of [1, 2]) health.failed('append')
    health.succeeded('read')
    t.equal(health.healthy(), false, 'a full disk still answers reads')
    health.succeeded('append')
    t.equal(health.healthy(), true)
    health.close()
  },
)

void t.test('it probes until the log answers', async (t) => {
  let probes = 0
  const { health, changes } = healthOf(() => {
    probes += 1
    return probes < 3 ? Promise.reject(new Error('not yet')) : Promise.resolve()
  })
  for (const _ of [1, 2]) health.failed('read')
  while (!health.healthy()) await sleep(10)
  t.equal(probes, 3)
  t.same(changes, [false, true])
  await sleep(100)
  t.equal(probes, 3, 'and not any more')
  health.close()
})
