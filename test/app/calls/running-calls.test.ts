import t from 'tap'
import type { Principal } from '../../../src/app/access/principal.ts'
import { defaultCallLimits } from '../../../src/app/calls/deps.ts'
import { createRunningCalls } from '../../../src/app/calls/running-calls.ts'

const principal = { tokenId: 'token_1', userId: 'user_1', tenantId: 'tenant_1' } as Principal
const STREAMS = 10
/** More looks than fit between two streams that end, and far fewer than fit between the first and the last. */
const IDLE_LOOKS = 8
const BETWEEN_MS = 60

/** Calls in flight: streams that are settled one after the other once they are cut short, but for so many. */
function streamsThatEnd(hanging: number) {
  const metrics = { inFlight: { set: () => undefined }, ended: { inc: () => undefined } }
  const running = createRunningCalls({ limits: defaultCallLimits, metrics } as never, IDLE_LOOKS)
  let last: Promise<unknown> = Promise.resolve()
  for (let made = 0; made < STREAMS; made += 1) {
    let settle: () => void = () => undefined
    const done = new Promise<void>((resolve) => (settle = resolve))
    const end = (): void => {
      if (made < hanging) return
      last = last.then(() => new Promise((resolve) => setTimeout(resolve, BETWEEN_MS))).then(settle)
    }
    running.watch({ done, idleMs: () => 0, abandon: () => undefined, end }, principal)
  }
  return running
}

t.test(
  'a stop waits for streams that it cut short while one after the other is settled',
  async (t) => {
    const running = streamsThatEnd(0)
    t.equal(running.inFlight(), STREAMS)
    t.equal(await running.close(0), true)
    t.equal(running.inFlight(), 0)
  },
)

t.test('a stop does not wait for streams that never end', async (t) => {
  const running = streamsThatEnd(2)
  t.equal(await running.close(0), false)
  t.equal(running.inFlight(), 2)
})
