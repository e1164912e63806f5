import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { formatAmount } from '../../src/kernel/money.ts'
import { serve } from '../cli/support/tollgate.ts'
import { call, callOnce } from '../e2e/support/client.ts'
import { askConsole, signInToConsole } from '../e2e/support/console.ts'
import { until } from '../helpers/eventually.ts'

/** A gateway is killed between a form of the console and its redirect: the form sent again finishes it once. */

t.setTimeout(600_000)

const folder = await mkdtemp(join(tmpdir(), 'tollgate-console-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const dataDir = join(folder, 'data')

const DELAYS_MS = [2, 8, 20, 60]
const ACME = 'acme'
/** Each refund gives back so many pico units of the currency. */
const PICO = 1_000_000n

/** A gateway that no failure leaves running. */
async function started() {
  const gateway = await serve(dataDir)
  t.teardown(() => gateway.end('SIGKILL'))
  return gateway
}

async function manage({ demo }: Awaited<ReturnType<typeof serve>>, path: string, body: object) {
  const answer = await call(`${demo.baseUrl}/api/admin/${path}`, {
    method: 'POST',
    token: demo.adminToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (answer.status >= 300) throw new Error(answer.text)
  return answer.body.data
}

t.test('after a kill a form is done once, and the session is as it was', async (t) => {
  const first = await started()
  const { baseUrl, modelToken, adminToken, tenantId } = first.demo
  const lifeId = await callOnce(baseUrl, modelToken)
  await manage(first, 'tenants', { tenant_id: ACME, name: 'Acme' })
  const issued = await manage(first, 'tokens', {
    tenant_id: tenantId,
    user_id: 'user_demo',
    kind: 'query',
    name: 'operator',
    scope: { level: 'all_tenants' },
  })
  const operator = String(issued.secret)
  const lifeAt = (url: string) => call(`${url}/api/query/v1/lives/${lifeId}`, { token: operator })
  await until(async () => (await lifeAt(baseUrl)).body.data?.state === 'settled')
  const { lines } = (await lifeAt(baseUrl)).body.data.receipt
  const lineId = String(lines.at(-1).line_id)
  await first.end('SIGTERM')

  let answersLost = 0
  for (const [n, delayMs] of DELAYS_MS.entries()) {
    const killed = await started()
    const cookie = await signInToConsole(killed.demo.baseUrl, adminToken)
    const [note, reason] = [`note ${n}`, `reason ${n}`]
    const forms: readonly (readonly [path: string, form: Record<string, string>])[] = [
      [`/console/life/${lifeId}/note`, { key: `note${n}`, text: note }],
      [
        `/console/life/${lifeId}/refund`,
        {
          key: `refund${n}`,
          line_id: lineId,
          amount: formatAmount(PICO),
          code: 'goodwill',
          reason,
        },
      ],
      ['/console/look', { tenant_id: ACME, reason, next: '/console' }],
    ]
    const sent = forms.map(([path, form]) =>
      askConsole(killed.demo.baseUrl, path, { cookie, form }).catch(() => undefined),
    )
    await sleep(delayMs)
    await killed.end('SIGKILL')
    for (const answer of await Promise.all(sent)) if (answer === undefined) answersLost += 1

    const next = await started()
    const url = next.demo.baseUrl
    for (const [path, form] of forms)
      t.match(await askConsole(url, path, { cookie, form }), { status: 303 }, `${path}, again`)
    const history = `/console/tenants/${ACME}/history`
    t.match(await askConsole(url, history, { cookie }), { status: 200 }, 'the reason is known')
    const given = formatAmount(PICO * BigInt(n + 1))
    await until(async () => (await lifeAt(url)).body.data.receipt.adjusted === given)
    const { steps } = (await lifeAt(url)).body.data
    t.equal(JSON.stringify(steps).split(note).length - 1, 1, 'one note')
    const views = await call(`${url}/api/query/v1/tasks/${ACME}/history`, { token: operator })
    const hours = new Set(
      views.body.data.items.map(({ data }: { readonly data: { readonly viewedAt: string } }) =>
        data.viewedAt.slice(0, 'YYYY-MM-DDTHH'.length),
      ),
    )
    t.equal(views.body.data.items.length, hours.size, 'one look an hour of the token')
    await next.end('SIGTERM')
  }
  t.ok(answersLost > 0, `${answersLost} answers were lost`)
})
