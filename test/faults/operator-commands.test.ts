import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { formatAmount } from '../../src/kernel/money.ts'
import { serve } from '../cli/support/tollgate.ts'
import { call, callOnce } from '../e2e/support/client.ts'
import { askConsole, signInToConsole } from '../e2e/support/console.ts'
import { until } from '../helpers/eventually.ts'
import { atLength } from '../helpers/long-run.ts'
import { removeFolder } from '../helpers/remove-folder.ts'

/**
 * A gateway is killed between the forms of the console and their redirects, and between a command and its answer: the
 * same sent again finishes each once. The gateway that shows it is the next to be killed.
 */

t.setTimeout(1_200_000)

const folder = await mkdtemp(join(tmpdir(), 'tollgate-operator-'))
t.teardown(() => removeFolder(folder))
const dataDir = join(folder, 'data')

/** When it is killed: after so many of the four answers, or so long after they were asked for. */
type Moment = { readonly answers: number } | { readonly afterMs: number }
const SHORT: readonly Moment[] = [{ afterMs: 1 }, { answers: 1 }, { answers: 4 }]
const MOMENTS = atLength(SHORT, [
  ...SHORT,
  ...[8, 20, 60].map((afterMs) => ({ afterMs })),
  ...[2, 3].map((answers) => ({ answers })),
])
const ACME = 'acme'
/** Each refund gives back so many pico units of the currency. */
const PICO = 1_000_000n

type Gateway = Awaited<ReturnType<typeof serve>>

/** A gateway that no failure leaves running. */
async function started(): Promise<Gateway> {
  const gateway = await serve(dataDir)
  t.teardown(() => gateway.end('SIGKILL'))
  return gateway
}

function manage({ demo }: Gateway, method: string, path: string, body?: object) {
  return call(`${demo.baseUrl}/api/admin/${path}`, {
    method,
    token: demo.adminToken,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
}

async function made(gateway: Gateway, path: string, body: object) {
  const answer = await manage(gateway, 'POST', path, body)
  if (answer.status >= 300) throw new Error(answer.text)
  return answer.body.data
}

interface Scene {
  readonly lifeId: string
  /** Of the receipt of that life. */
  readonly lineId: string
  readonly lifeAt: (url: string) => ReturnType<typeof call>
  readonly historyAt: (url: string) => ReturnType<typeof call>
}

/** A settled call, another tenant, and a token that reads both. */
async function prepare(gateway: Gateway): Promise<Scene> {
  const { baseUrl, modelToken, tenantId } = gateway.demo
  const lifeId = await callOnce(baseUrl, modelToken)
  await made(gateway, 'tenants', { tenant_id: ACME, name: 'Acme' })
  const issued = await made(gateway, 'tokens', {
    tenant_id: tenantId,
    user_id: 'user_demo',
    kind: 'query',
    name: 'operator',
    scope: { level: 'all_tenants' },
  })
  const token = String(issued.secret)
  const lifeAt = (url: string) => call(`${url}/api/query/v1/lives/${lifeId}`, { token })
  await until(async () => (await lifeAt(baseUrl)).body.data?.state === 'settled')
  const { lines } = (await lifeAt(baseUrl)).body.data.receipt
  return {
    lifeId,
    lineId: String(lines.at(-1).line_id),
    lifeAt,
    historyAt: (url) => call(`${url}/api/query/v1/tasks/${ACME}/history`, { token }),
  }
}

type Form = readonly [path: string, form: Record<string, string>]

function formsOf({ lifeId, lineId }: Scene, n: number): readonly Form[] {
  const reason = `reason ${n}`
  const amount = formatAmount(PICO)
  return [
    [`/console/life/${lifeId}/note`, { key: `note${n}`, text: `note ${n}` }],
    [
      `/console/life/${lifeId}/refund`,
      { key: `refund${n}`, line_id: lineId, amount, code: 'goodwill', reason },
    ],
    ['/console/view-reason', { tenant_id: ACME, reason, next: '/console' }],
  ]
}

async function judgeForms(
  t: Test,
  url: string,
  scene: Scene,
  sent: { readonly n: number; readonly cookie: string; readonly forms: readonly Form[] },
): Promise<void> {
  const { n, cookie, forms } = sent
  for (const [path, form] of forms)
    t.match(await askConsole(url, path, { cookie, form }), { status: 303 }, `${path}, again`)
  const activity = `/console/tenants/${ACME}/activity`
  t.match(await askConsole(url, activity, { cookie }), { status: 200 }, 'the reason is known')
  const given = formatAmount(PICO * BigInt(n + 1))
  await until(async () => (await scene.lifeAt(url)).body.data.receipt.adjusted === given)
  const { steps } = (await scene.lifeAt(url)).body.data
  t.equal(JSON.stringify(steps).split(`note ${n}`).length - 1, 1, 'one note')
  const views = await scene.historyAt(url)
  const hours = new Set(
    views.body.data.items.map(({ data }: { readonly data: { readonly viewedAt: string } }) =>
      data.viewedAt.slice(0, 'YYYY-MM-DDTHH'.length),
    ),
  )
  t.equal(views.body.data.items.length, hours.size, 'one look an hour of the token')
}

/** The command again changes the tenant's life once, or nothing; `n` others came before it. */
async function judgeCommand(t: Test, gateway: Gateway, path: string, n: number): Promise<void> {
  const wanted = suspension(n)
  const found = (await manage(gateway, 'GET', path)).body.data
  const isRecorded = found.reason === wanted.reason
  t.equal(found.revision, isRecorded ? n + 1 : n, 'recorded once or never')
  t.match(await manage(gateway, 'PUT', path, wanted), {
    status: 200,
    body: { data: { ...wanted, changed: !isRecorded, revision: n + 1 } },
  })
  const { baseUrl, modelToken } = gateway.demo
  const refused = await call(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    token: modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  t.match(refused, { status: 403, body: { error: { code: 'tenant_suspended' } } })
}

const suspension = (n: number) => ({ status: 'suspended', reason: `kill ${n}` })

t.test('after a kill all is done once, and the session is as it was', async (t) => {
  let gateway = await started()
  const scene = await prepare(gateway)
  const path = `tenants/${gateway.demo.tenantId}/status`
  let answersLost = 0
  for (const [n, moment] of MOMENTS.entries()) {
    const { baseUrl, adminToken } = gateway.demo
    const cookie = await signInToConsole(baseUrl, adminToken)
    const forms = formsOf(scene, n)
    let answered = 0
    const sent = [
      manage(gateway, 'PUT', path, suspension(n)),
      ...forms.map(([to, form]) => askConsole(baseUrl, to, { cookie, form })),
    ].map((asked) =>
      asked.then(
        () => (answered += 1),
        () => undefined,
      ),
    )
    if ('afterMs' in moment) await sleep(moment.afterMs)
    else await until(() => answered >= moment.answers)
    await gateway.end('SIGKILL')
    await Promise.all(sent)
    answersLost += sent.length - answered

    gateway = await started()
    await judgeForms(t, gateway.demo.baseUrl, scene, { n, cookie, forms })
    await judgeCommand(t, gateway, path, n)
  }
  t.ok(answersLost > 0, `${answersLost} answers were lost`)
  t.equal(await gateway.end('SIGTERM'), 0)
})
