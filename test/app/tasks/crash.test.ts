import t from 'tap'
import { balances } from '../../helpers/ledger-balances.ts'
import type { CrashPointName } from '../../../src/app/crash-points.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { eventually } from '../../helpers/eventually.ts'
import { mortality } from '../support/mortality.ts'
import {
  codeOf,
  createInput,
  startWorld,
  taskKey,
  TENANT,
  type Replica,
  type World,
} from '../support/world.ts'

/** A process that is as good as dead once it reaches a point: nothing it does has an effect. */
function mortal(world: World, at: CrashPointName, policies: boolean): Replica {
  const { log, crashPoint } = mortality(world.log, at)
  const replica = world.replica({ log, crashPoint })
  if (policies) replica.startPolicies()
  return replica
}

const inCreation: readonly CrashPointName[] = [
  'create.before-admission',
  'create.before-requested',
  'create.after-requested',
  'create.after-provider',
  'create.after-submitted',
]

t.test('a process dies between any two steps; the next process completes the task', async (t) => {
  const world = await startWorld(t)
  const sent = ['create.after-provider', 'create.after-submitted']

  for (const at of inCreation) {
    const before = world.sandbox.accepted().length
    const dying = mortal(world, at, false)
    t.equal(await codeOf(dying.tasks.createTask(createInput())).catch(() => 'died'), 'died', at)
    await dying.stop()
    t.equal(world.sandbox.accepted().length - before, sent.includes(at) ? 1 : 0, at)
  }
  for (const [at, fault] of [
    ['create.before-uncertain', 'drop-after-accept'],
    ['create.before-refused', 'refuse=InvalidParameter'],
  ] as const) {
    const dying = mortal(world, at, false)
    const input = createInput({ prompt: `x [[sandbox ${fault}]]` })
    t.equal(await codeOf(dying.tasks.createTask(input)).catch(() => 'died'), 'died', at)
    await dying.stop()
  }
  for (const at of ['poll.after-lease', 'observe.before-append', 'observe.after-append'] as const) {
    const dying = mortal(world, at, true)
    const made = await world.replica().tasks.createTask(createInput())
    await eventually(`a poll of ${made.platformId}`, async () => {
      const { rows } = await world.pool.query<{ attempts: number }>(
        'select attempts from tasks.polls where platform_id = $1',
        [made.platformId],
      )
      return rows[0] === undefined || rows[0].attempts > 0 ? true : undefined
    })
    await dying.stop()
  }
  for (const at of [
    'delete.before-forward',
    'delete.after-forward',
    'delete.before-hide',
  ] as const) {
    const dying = mortal(world, at, false)
    const wait = at === 'delete.before-hide' ? 0 : 1_500
    const prompt = `x [[sandbox queued-ms=${wait} running-ms=0]]`
    const made = await world.replica().tasks.createTask(createInput({ prompt }))
    await codeOf(dying.tasks.deleteTask(taskKey(made.platformId))).catch(() => 'died')
    await dying.stop()
  }

  // What stays without an outcome is looked for after a while: the next process lives later.
  world.replica({ policies: true, clock: { nowMs: () => Date.now() + 125_000 } })
  const nativeIds = world.sandbox.accepted().map(({ id }) => id)
  t.ok(nativeIds.length >= 9, `${nativeIds.length} accepted`)
  for (const nativeId of nativeIds) {
    await eventually(`the end of ${nativeId}`, async () => {
      const { rows } = await world.pool.query<{ settled: boolean; status: string }>(
        'select settled, status from tasks.tasks where native_id = $1',
        [nativeId],
      )
      const accepted = world.sandbox.accepted().find(({ id }) => id === nativeId)
      const cancelled = accepted?.cancelled === true && rows[0]?.status === 'cancelled'
      return rows[0]?.settled === true || cancelled ? true : undefined
    })
  }
  await world.settle()

  const { rows } = await world.pool.query<{ lines: string; sources: string; sum: string }>(
    `select count(*) as lines, count(distinct source_id) as sources, sum(amount)::text as sum
     from ledger.lines`,
  )
  const succeeded = world.sandbox.accepted().filter(({ cancelled }) => !cancelled).length
  t.equal(rows[0]?.lines, String(succeeded), 'every success settled once')
  t.equal(rows[0]?.sources, String(succeeded))
  const cny = (await balances(world.pool, TENANT)).find(({ currency }) => currency === 'CNY')
  t.equal(
    formatAmount(parseAmount(cny?.settled ?? '0')),
    formatAmount(parseAmount(trim(rows[0]?.sum))),
  )
})

function trim(amount: string | undefined): string {
  return (amount ?? '0').replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
}
