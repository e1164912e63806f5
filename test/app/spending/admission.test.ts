import t from 'tap'
import { balances } from '../../helpers/ledger-balances.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { createSweep } from '../../../src/app/tasks/watch/sweep.ts'
import { eventually } from '../../helpers/eventually.ts'
import { codeOf, createInput, startWorld, TENANT } from '../support/world.ts'
import { captureLockWaits } from './support/lock-waits.ts'

/** Creations the credit covers, with half a one left over. */
const FEW = 5

t.test('two replicas at once never admit more than the balance covers', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const probe = await world.replica().tasks.createTask(createInput())
  const [requested] = await world.eventsOf(probe.platformId)
  const hold = requested?.type === 'TaskRequested' ? requested.data.quote.hold : '0'
  const credit = formatAmount((parseAmount(hold) * BigInt(2 * FEW + 1)) / 2n)
  await world.tenant('tenant_poor', credit)
  await world.settle()

  const replicas = [world.replica(), world.replica()]
  const codes = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      codeOf(replicas[index % 2]!.tasks.createTask(createInput({ tenantId: 'tenant_poor' }))),
    ),
  )
  const admitted = codes.filter((code) => code === 'no error').length
  t.equal(admitted, FEW)
  t.equal(codes.filter((code) => code === 'insufficient_balance').length, 24 - FEW)
  await world.settle()
  const cny = (await balances(world.pool, 'tenant_poor')).find((row) => row.currency === 'CNY')
  t.ok(parseAmount(cny?.available ?? '-1') >= 0n, `${cny?.available} is left`)
  t.equal(
    await codeOf(replicas[0]!.tasks.createTask(createInput({ tenantId: 'tenant_poor' }))),
    'insufficient_balance',
    'projected holds and reservations are not counted twice nor forgotten',
  )
})

t.test('a released hold can be spent again', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica({ policies: true })
  const probe = await tasks.createTask(createInput())
  const [requested] = await world.eventsOf(probe.platformId)
  const hold = requested?.type === 'TaskRequested' ? requested.data.quote.hold : '0'
  await world.tenant('tenant_once', hold)
  await world.settle()
  const refused = createInput({
    tenantId: 'tenant_once',
    prompt: '[[sandbox refuse=InvalidParameter]]',
  })
  t.equal(await codeOf(tasks.createTask(refused)), 'submission_refused')
  await world.settle()
  const failing = createInput({ tenantId: 'tenant_once', prompt: '[[sandbox fail=X]]' })
  const { platformId } = await tasks.createTask(failing)
  t.equal(
    await codeOf(tasks.createTask(createInput({ tenantId: 'tenant_once' }))),
    'insufficient_balance',
  )
  await eventually('the failure', async () =>
    (await world.eventsOf(platformId)).find((event) => event.type === 'TaskFailed'),
  )
  await world.settle()
  t.equal(await codeOf(tasks.createTask(createInput({ tenantId: 'tenant_once' }))), 'no error')
})

t.test('a hold counts once when the ledger has it before its position is recorded', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const probe = await tasks.createTask(createInput())
  const [requested] = await world.eventsOf(probe.platformId)
  const hold = requested?.type === 'TaskRequested' ? requested.data.quote.hold : '0'
  await world.tenant('tenant_two', formatAmount(parseAmount(hold) * 2n))
  await world.settle()
  const input = createInput({ tenantId: 'tenant_two' })
  const first = await tasks.createTask(input)
  await world.settle()
  await eventually('the note', async () => {
    const { rows } = await world.pool.query(
      'select 1 from ops.admissions where platform_id = $1 and position is not null',
      [first.platformId],
    )
    return rows.length > 0 ? true : undefined
  })
  await world.pool.query('update ops.admissions set position = null where platform_id = $1', [
    first.platformId,
  ])
  t.equal(await codeOf(tasks.createTask(input)), 'no error')
  t.equal(await codeOf(tasks.createTask(input)), 'insufficient_balance')
})

t.test('reservations of a dead process are kept only if the log has their task', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const { platformId } = await tasks.createTask(createInput())
  await world.settle()
  const stray = 'video_01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const young = 'video_01ARZ3NDEKTSV4RRFFQ69G5FAW'
  await world.pool.query('delete from ops.admissions')
  const reserve = (id: string, hold: number, age: string) =>
    world.pool.query(
      `insert into ops.admissions (platform_id, tenant_id, currency, hold, admitted_at)
       values ($1, $2, 'CNY', $3, now() - $4::interval)`,
      [id, TENANT, hold, age],
    )
  const reserved = async () => {
    const { rows } = await world.pool.query<{ platform_id: string }>(
      'select platform_id from ops.admissions order by platform_id',
    )
    return rows.map((row) => row.platform_id)
  }
  await reserve(platformId, 9000, '10 minutes')
  await reserve(stray, 18000, '1 hour')
  t.equal(await codeOf(tasks.createTask(createInput())), 'insufficient_balance')
  let elapsedMs = 0
  const { deps } = world.replica({ monotonic: { nowMs: () => elapsedMs } })
  const sweep = createSweep(deps)
  t.teardown(() => sweep.stop())
  await sweep.round()
  t.same((await reserved()).sort(), [platformId, stray].sort(), 'a time that was set ends none')
  elapsedMs += 31_000
  await reserve(young, 1, '1 hour')
  await sweep.round()
  t.same((await reserved()).sort(), [platformId, young].sort())
  elapsedMs += 15_000
  await sweep.round()
  t.equal(await codeOf(tasks.createTask(createInput())), 'no error')
  await world.settle()
  elapsedMs += 14_000
  await sweep.round()
  t.ok((await reserved()).includes(young), 'what may still be written to the log stays reserved')
  elapsedMs += 61_000
  await sweep.round()
  t.same(await reserved(), [], 'what is projected, and what never came')
})

t.test('a request behind others is refused after one waiting time in all', async (t) => {
  const world = await startWorld(t)
  const { deps } = world.replica()
  const holder = await world.pool.connect()
  t.teardown(() => holder.release())
  await holder.query('begin; select pg_advisory_xact_lock(7207002, hashtext($$tenant_1\nCNY$$))')
  const lockWaits = captureLockWaits(t)
  const admit = (index: number) =>
    codeOf(
      deps.admissions.admit({
        platformId: `video_${index}`,
        tenantId: TENANT,
        tokenId: 'token_1',
        userId: 'user_1',
        taskLimits: [],
        currency: 'CNY',
        hold: '1',
      }),
    )
  const first = admit(0)
  // Two more transactions' worth.
  const behind = Array.from({ length: 500 }, (_, index) => admit(index + 1))
  t.same(new Set(await Promise.all([first, ...behind])), new Set(['database_unavailable']))
  t.equal(lockWaits().length, 1, 'those behind wait for no second transaction')
  await holder.query('rollback')
  t.equal(await admit(501), 'no error')
})
