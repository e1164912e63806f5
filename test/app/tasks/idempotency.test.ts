import t from 'tap'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { eventually } from '../../helpers/eventually.ts'
import { faultyLog } from '../../eventlog/support/faulty-log.ts'
import { codeOf, createInput, startWorld, uncertain } from '../support/world.ts'

t.test('Idempotency-Key', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  await world.tenant('tenant_2', '10000')
  await world.settle()
  const [one, two] = [world.replica(), world.replica()]

  await t.test('a repeated request returns the task of the first', async (t) => {
    const first = await one.tasks.createTask(createInput({ idempotencyKey: 'same' }))
    const again = await two.tasks.createTask(createInput({ idempotencyKey: 'same' }))
    t.same(again, { ...first, replayed: true })
  })

  await t.test(
    'funds stay reserved under a key whose append was refused, and under no other id',
    async (t) => {
      const log = faultyLog(world.log, ['unavailable', 'unavailable']).log
      const failing = world.replica({ log })
      const reserved = async (): Promise<number> => {
        const { rows } = await world.pool.query<{ count: number }>(
          'select count(*)::int as count from ops.admissions where position is null',
        )
        return rows[0]?.count ?? 0
      }
      t.equal(await codeOf(failing.tasks.createTask(createInput())), 'log_unavailable')
      await eventually('the funds of a request without a key are free', async () =>
        (await reserved()) === 0 ? true : undefined,
      )
      const keyed = createInput({ idempotencyKey: 'refused' })
      t.equal(await codeOf(failing.tasks.createTask(keyed)), 'log_unavailable')
      // Another request under the key may have been recorded meanwhile: the sweep asks the log.
      await new Promise((resolve) => setTimeout(resolve, 500))
      t.equal(await reserved(), 1)
    },
  )

  await t.test('another body under the key is refused and names the first task', async (t) => {
    const first = await one.tasks.createTask(createInput({ idempotencyKey: 'body' }))
    const error = await two.tasks
      .createTask(createInput({ idempotencyKey: 'body', prompt: 'another' }))
      .catch((caught: unknown) => caught)
    t.ok(isDomainError(error, 'idempotency_key_reused'))
    t.match(error, { details: { platformId: first.platformId } })
  })

  await t.test('a key of another tenant is an independent key', async (t) => {
    const first = await one.tasks.createTask(createInput({ idempotencyKey: 'tenant' }))
    const other = await one.tasks.createTask(
      createInput({ idempotencyKey: 'tenant', tenantId: 'tenant_2' }),
    )
    t.not(other.platformId, first.platformId)
    t.equal(other.replayed, false)
  })

  await t.test('of two requests at once on two replicas one is sent upstream', async (t) => {
    const before = world.sandbox.accepted().length
    const codes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        codeOf((index % 2 ? one : two).tasks.createTask(createInput({ idempotencyKey: 'race' }))),
      ),
    )
    t.equal(world.sandbox.accepted().length, before + 1)
    t.ok(codes.includes('no error'))
    const allowed = new Set(['no error', 'idempotency_in_progress'])
    t.same(
      codes.filter((code) => !allowed.has(code)),
      [],
    )
  })

  await t.test('a refused creation frees the key', async (t) => {
    world.sandbox.faults.add({ faults: ['http=429'], once: true, match: { op: 'create' } })
    const input = createInput({ idempotencyKey: 'refused' })
    // The channel rests where it was refused, and what follows is not about that.
    const limited = world.replica()
    t.equal(await codeOf(limited.tasks.createTask(input)), 'submission_refused')
    const created = await two.tasks.createTask(createInput({ idempotencyKey: 'refused' }))
    t.equal(created.replayed, false)
  })

  await t.test('an uncertain creation is never sent again', async (t) => {
    const prompt = 'x [[sandbox drop-after-accept]]'
    const id = await uncertain(one.tasks.createTask, { prompt, idempotencyKey: 'doubt' })
    const before = world.sandbox.accepted().length
    const again = await uncertain(two.tasks.createTask, { prompt, idempotencyKey: 'doubt' })
    t.equal(again, id)
    t.equal(world.sandbox.accepted().length, before)
  })

  await t.test('the log has only a hash of the key', async (t) => {
    const { platformId } = await one.tasks.createTask(
      createInput({ idempotencyKey: 'very-secret-key' }),
    )
    const [requested] = await world.eventsOf(platformId)
    t.ok(requested?.type === 'TaskRequested' && requested.data.idempotency?.keyHash)
    t.notMatch(JSON.stringify(requested?.data), /very-secret-key/)
  })
})
