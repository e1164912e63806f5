import type { InjectOptions } from 'fastify'
import pino from 'pino'
import t from 'tap'
import { adminEnvelope } from '../../../src/api/admin/envelope.ts'
import { adminPlugin } from '../../../src/api/admin/plugin.ts'
import { createServer, defaultLimits } from '../../../src/api/app.ts'
import { authenticate, noManagement, nowMs } from '../support/app.ts'
import { noRefusedForms, noThrottle } from '../support/no-throttle.ts'

/** Every route of the administration, as the server has registered it, is asked for with and without the role. */

const PREFIX = '/api/admin'
const app = createServer(
  { logger: pino({ level: 'silent' }), clock: { nowMs: () => nowMs } },
  defaultLimits,
  () => adminEnvelope,
)
const routes: { readonly method: string; readonly path: string; readonly finance: boolean }[] = []
app.addHook('onRoute', ({ method, url, config }) => {
  for (const one of [method].flat())
    routes.push({ method: one, path: url, finance: config?.roles?.includes('finance') === true })
})
const plugin = adminPlugin({
  tokens: { authenticate },
  throttle: noThrottle,
  accounts: noManagement,
  http: { refusedForms: noRefusedForms },
})
await app.register(plugin, { prefix: PREFIX })
await app.ready()
t.teardown(() => app.close())

const ask = async (secret: string, method: string, path: string) => {
  const answer = await app.inject({
    method: method as InjectOptions['method'] & string,
    url: path.replaceAll(/:\w+/g, 'some'),
    headers: { authorization: `Bearer ${secret}` },
    ...(/^(?:GET|HEAD|DELETE)$/.test(method) ? {} : { payload: {} }),
  })
  const body: unknown = answer.body === '' ? undefined : answer.json()
  return { status: answer.statusCode, body }
}
const refusal = {
  success: false,
  message: 'The role finance of this token does not allow it: use an admin token without a role',
  error: { code: 'scope_denied' },
}

t.test('403 on every route but those that are marked for the role finance', async (t) => {
  t.ok(routes.length > 40, `${routes.length} routes`)
  for (const { method, path, finance } of routes) {
    const title = `${method} ${path}`
    const { status, body } = await ask('adm-finance', method, path)
    const isRefused = status === 403
    t.equal(isRefused, !finance, title)
    if (isRefused && method !== 'HEAD') t.strictSame(body, refusal, title)
    const full = await ask('adm-one', method, path)
    t.not(full.status, 403, `${title} without a role`)
    if (finance) t.strictSame({ status, body }, full, `${title} is answered alike`)
  }
})

/** A new route of the administration is decided for here: it is in this list, or closed to the role. */
t.test('the role finance opens these routes', async (t) => {
  const open = routes
    .filter(({ method, finance }) => finance && method !== 'HEAD')
    .map(({ method, path }) => `${method} ${path.slice(PREFIX.length)}`)
  t.strictSame(open.toSorted(), [
    'GET /proposals',
    'GET /tenants',
    'GET /tenants/:tenant_id',
    'GET /tenants/:tenant_id/approvals',
    'GET /tenants/:tenant_id/billing',
    'GET /tenants/:tenant_id/credit',
    'GET /tenants/:tenant_id/proposals/:proposal_id',
    'GET /tenants/:tenant_id/reporting',
    'POST /tenants/:tenant_id/adjustments',
    'POST /tenants/:tenant_id/credit/grants',
    'POST /tenants/:tenant_id/proposals/:proposal_id/approve',
    'POST /tenants/:tenant_id/proposals/:proposal_id/reject',
    'PUT /tenants/:tenant_id/billing',
  ])
})

t.test('the role is refused before a body is read, and a wrong path is 404', async (t) => {
  const headers = { authorization: 'Bearer adm-finance', 'content-type': 'application/json' }
  const tokens = { method: 'POST', url: `${PREFIX}/tokens`, headers } as const
  t.match(await app.inject({ ...tokens, payload: '{' }), { statusCode: 403 })
  t.match(await app.inject({ ...tokens, url: `${PREFIX}/nothing` }), { statusCode: 404 })
})
