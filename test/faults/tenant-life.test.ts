import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { serve } from '../cli/support/tollgate.ts'
import { call } from '../e2e/support/client.ts'

/** A gateway is killed between the command and its answer: the same request again finishes it once. */

t.setTimeout(600_000)

const folder = await mkdtemp(join(tmpdir(), 'tollgate-life-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const dataDir = join(folder, 'data')

type Gateway = Awaited<ReturnType<typeof serve>>
const ask = (gateway: Gateway, method: string, path: string, body?: object) => {
  const { baseUrl, adminToken: token, tenantId } = gateway.demo
  return call(`${baseUrl}/api/admin/tenants/${tenantId}/${path}`, {
    method,
    token,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
}

t.test('after a kill the same command again changes it once, or nothing', async (t) => {
  const delaysMs = [2, 8, 20, 60]
  let answersLost = 0
  let revision = 0
  for (const [n, delayMs] of delaysMs.entries()) {
    const wanted = { status: 'suspended', reason: `kill ${n}` }
    const killed = await serve(dataDir)
    const sent = ask(killed, 'PUT', 'status', wanted).catch(() => undefined)
    await sleep(delayMs)
    await killed.end('SIGKILL')
    if ((await sent) === undefined) answersLost += 1
    const next = await serve(dataDir)
    const found = (await ask(next, 'GET', 'status')).body.data
    const isRecorded = found.reason === wanted.reason
    t.equal(found.revision, isRecorded ? revision + 1 : revision, `${delayMs} ms`)
    const again = await ask(next, 'PUT', 'status', wanted)
    t.match(again, {
      status: 200,
      body: { data: { ...wanted, changed: !isRecorded, revision: revision + 1 } },
    })
    revision += 1
    const { baseUrl, modelToken } = next.demo
    const refused = await call(`${baseUrl}/v1/chat/completions`, {
      method: 'POST',
      token: modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'text-basic',
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    })
    t.match(refused, { status: 403, body: { error: { code: 'tenant_suspended' } } })
    await next.end('SIGTERM')
  }
  t.ok(answersLost > 0, `${answersLost} answers were lost`)
})
