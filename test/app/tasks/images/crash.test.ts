import t from 'tap'
import type { CrashPointName } from '../../../../src/app/crash-points.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { mortality } from '../../support/mortality.ts'
import { codeOf, type Replica } from '../../support/world.ts'
import { imageInput, PAST_THE_END_MS, startImageScene } from './support/scene.ts'

const scene = await startImageScene(t)
const { world, store, replica, keys, typesOf, reaches, sent, moneyOf } = scene

/** A process that is as good as dead once it reaches a point: nothing it does has an effect. */
function mortal(at: CrashPointName): Replica & { readonly isDead: () => boolean } {
  const { isDead, log, crashPoint } = mortality(world.log, at)
  const alive = async (work: () => Promise<void>): Promise<void> => {
    if (isDead()) throw new Error('dead')
    return work()
  }
  const made = replica({
    store: {
      ...store,
      put: (...given) => alive(() => store.put(...given)),
      remove: (key) => alive(() => store.remove(key)),
    },
    log,
    crashPoint,
  })
  return { ...made, isDead }
}

t.test('a process dies between any two steps of a creation', async (t) => {
  const before = await world.log.endPosition()
  const orphaning = mortal('image.after-payload')
  await orphaning.images.create(imageInput()).catch(() => undefined)
  await orphaning.stop()
  t.equal(await world.log.endPosition(), before, 'there is no task')

  const dying = mortal('create.after-requested')
  const input = { ...imageInput({ prompt: 'x [[client=unanswered]]' }), idempotencyKey: 'k' }
  t.equal(await codeOf(dying.images.create(input)).catch(() => 'died'), 'died')
  await dying.stop()
  const worker = replica({ policies: true })
  const { platformId, replayed } = await worker.images.create(input)
  t.ok(replayed, 'who asks again with the key gets the task')
  await reaches(worker, platformId, 'completed')
  await worker.stop()
  t.equal(sent('unanswered'), 1)
  t.match(await moneyOf(platformId), { lines: 1, state: 'captured' })
})

t.test('a process frozen past its reservation leaves no hold and no task to run', async (t) => {
  let heldMs = 0
  const taker = replica({
    monotonic: { nowMs: () => performance.now() + heldMs },
    crashPoint: (name) => {
      // A sweep has given the reservation back by the time the process comes back.
      if (name === 'create.before-requested' && heldMs === 0) heldMs = 31_000
    },
  })
  const prompt = 'x [[client=frozen]]'
  const error = await taker.images.create(imageInput({ prompt })).catch((caught: unknown) => caught)
  t.match(error, { code: 'submission_refused', details: { kind: 'unavailable' } })
  const { platformId } = (error as { details: { platformId: string } }).details
  t.same(await typesOf(platformId), ['TaskRequested', 'TaskSubmissionRefused'])
  t.match(await moneyOf(platformId), { lines: 0, state: 'released' })
  const of = 'select from tasks.polls where platform_id = $1'
  t.same((await world.pool.query(of, [platformId])).rows, [], 'no worker makes it')
  t.same(
    (await keys('payloads/')).filter((key) => key.includes(platformId)),
    [],
  )
  await taker.stop()
})

const inMaking: readonly (readonly [CrashPointName, number, 'completed' | 'failed'])[] = [
  ['image.after-start', 0, 'failed'],
  ['image.after-provider', 1, 'failed'],
  ['image.after-storage', 1, 'failed'],
  ['image.after-end', 1, 'completed'],
]

t.test(
  'after a crash at any step, a picture that may have been accepted is not sent again',
  async (t) => {
    const taker = replica()
    const ids = new Map<CrashPointName, string>()
    for (const [at] of inMaking) {
      const prompt = `x [[client=${at}]]`
      const { platformId } = await taker.images.create(imageInput({ prompt }))
      ids.set(at, platformId)
      const dying = mortal(at)
      dying.startPolicies()
      await eventually(`it dies at ${at}`, () => Promise.resolve(dying.isDead()))
      await dying.stop()
    }
    const next = replica({ policies: true })
    for (const [at, , end] of inMaking)
      await eventually(`${at} is taken over`, async () => {
        const types = await typesOf(ids.get(at) ?? '')
        return types.includes(end === 'failed' ? 'TaskSubmissionUncertain' : 'TaskSettled')
      })
    await next.stop()
    const later = replica({ policies: true, clock: { nowMs: () => Date.now() + PAST_THE_END_MS } })
    for (const [at, calls, end] of inMaking) {
      const id = ids.get(at) ?? ''
      const view = await reaches(taker, id, end)
      t.equal(sent(at), calls, `${at}: sent ${calls} times`)
      if (end === 'completed') {
        t.match(await moneyOf(id), { lines: 1, state: 'captured' }, at)
        continue
      }
      t.match(view, { error: { code: 'outcome_unknown' } }, at)
      t.match((await world.eventsOf(id)).at(-1)?.data, { possibleCostLeak: true }, at)
      t.match(await moneyOf(id), { lines: 0, state: 'released' }, at)
    }
    await later.stop()
    // What the dead one left of the task it had ended is purged.
    t.ok((await keys('payloads/')).length <= 2)
  },
)
