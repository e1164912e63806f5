import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t from 'tap'
import { startCalls } from '../../../src/app/calls/start.ts'
import { reportSpending } from '../../../src/app/spending/replica-reports.ts'
import { spoolIdentity } from '../../../src/eventlog/journal/spool.ts'
import { until } from '../../helpers/eventually.ts'
import { startTextWorld } from './support/text-world.ts'

const directory = await mkdtemp(join(tmpdir(), 'tollgate-start-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))

t.test('the identity of a spool lasts as long as its disk', async (t) => {
  const id = await spoolIdentity(directory, 1)
  t.equal(await spoolIdentity(directory, 2), id)
  await writeFile(join(directory, 'spool-id'), 'torn')
  const other = await spoolIdentity(directory, 3)
  t.not(other, id)
  t.equal(await spoolIdentity(directory, 4), other)
})

t.test('a process with an empty spool ends the wait for records of a dead process', async (t) => {
  const world = await startTextWorld(t)
  const { deps } = await world.text()
  const spooledAt = async () => {
    const { rows } = await world.pool.query<{ replica: string }>(
      'select replica from ops.text_spending where spool is not null order by replica',
    )
    return rows.map(({ replica }) => replica)
  }
  const report = async (replica: string, spool: string) =>
    reportSpending(world.pool, { replica, turn: 1 }, [
      {
        name: 'tenant_1',
        unit: 'USD',
        held: 0n,
        settled: 5n,
        position: undefined,
        spool,
      },
    ])
  await report('dead', await spoolIdentity(directory, 1))
  await report('elsewhere', 'another spool')
  const { journal: _journal, ...rest } = deps
  const started = await startCalls({
    ...rest,
    log: world.log,
    prices: { ...rest.prices, renew: () => undefined },
    registry: new Registry(),
    spoolDirectory: directory,
  })
  t.teardown(() => started.stop(1_000))
  await until(async () => !(await spooledAt()).includes('dead'))
  t.same(await spooledAt(), ['elsewhere'])
})
