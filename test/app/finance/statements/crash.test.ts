import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { nodeArguments } from '../../../helpers/checkout.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'
import { postingsText } from './support/postings-text.ts'

const CHILD = new URL('support/close-child.ts', import.meta.url)
const world = await startClosingWorld(t)
const { statements, clock } = world

for (const [crashAt, standsAlready] of [
  ['close.before-append', false],
  ['close.after-append', true],
  ['close.after-tiles', true],
] as const)
  t.test(`a closer that is killed at ${crashAt} leaves one close to the next`, async (t) => {
    const tenantId = `tenant_${crashAt.replaceAll(/\W/g, '_')}`
    clock.set('2026-01-10T00:00:00Z')
    await world.tenant(tenantId)
    await world.grant(tenantId, 'CNY', '100')
    const atMs = Date.parse('2026-01-20T00:00:00Z')
    const [lineId = ''] = await world.call({ tenantId, currency: 'CNY', atMs })
    await world.settle()
    clock.set('2026-02-05T00:00:00Z')
    const month = { tenantId, currency: 'CNY', month: '2026-01' } as const
    const child = spawn(process.execPath, nodeArguments(CHILD), {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const { eventStoreUrl, databaseUrl, namespace } = world
    child.stdin.end(
      JSON.stringify({
        eventStoreUrl,
        databaseUrl,
        namespace,
        crashAt,
        month,
        nowMs: clock.nowMs(),
      }),
    )
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
    t.equal(signal, 'SIGKILL')

    const { period, created } = await statements.close(month, shell)
    t.equal(created, !standsAlready)
    t.equal((await world.log.readStream(`statements-${tenantId}`)).length, 1)
    t.match(period, { statement: 'ACME-0001', postings: 2, closing: '99.9995' })
    await world.settle()
    t.equal((await postingsText(statements, month)).split('\n').length, 4)
    // Lost tiles are built again by the first proof.
    await eventually('the line has its proof', () =>
      statements.proofOfLine({ tenantId, lineId }).then(
        () => true,
        () => false,
      ),
    )
  })
