import type { InjectOptions } from 'fastify'
import t from 'tap'
import type { RequestPurpose } from '../../src/domain/account/status.ts'
import { DomainError } from '../../src/kernel/errors.ts'
import { startApp, tokensByScheme } from './support/app.ts'

/** The purpose of each route of the description, by which the life of a tenant decides what its tokens may do. */

const asked: RequestPurpose[] = []
const { app } = await startApp({
  tokens: {
    tenantAccess: {
      check: (_principal, purpose) => {
        asked.push(purpose)
        return Promise.reject(new DomainError('tenant_closed', 'This tenant is closed', {}))
      },
    },
  },
})
t.teardown(() => app.close())

interface Operation {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}
const { paths } = (await app.inject('/openapi.json')).json<{
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}>()
const routes = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations).flatMap(([method, { security = [] }]) => {
    const scheme = Object.keys(security[0] ?? {})[0]
    return scheme === undefined ? [] : [{ method: method.toUpperCase(), path, scheme }]
  }),
)

async function purposeOf(method: string, path: string, scheme: string, query = '') {
  asked.length = 0
  const answer = await app.inject({
    method: method as InjectOptions['method'] & string,
    url: `${path.replaceAll(/\{\w+\}/g, 'some')}${query}`,
    headers: { authorization: `Bearer ${tokensByScheme[scheme]}` },
    ...(/^(?:GET|DELETE)$/.test(method) ? {} : { payload: {} }),
  })
  return { purpose: asked[0], times: asked.length, answer }
}

t.test('every route with a token is refused, once, in a shape of its own', async (t) => {
  t.ok(routes.length > 80, `${routes.length} routes`)
  for (const { method, path, scheme } of routes) {
    const { answer, times } = await purposeOf(method, path, scheme)
    const name = `${method} ${path}`
    t.equal(answer.statusCode, 403, `${name}: ${answer.body.slice(0, 200)}`)
    t.match(answer.body, 'This tenant is closed', name)
    t.equal(times, 1, name)
  }
})

/** A new POST of a model token is decided for here: it is in this list, or refused while suspended. */
t.test('these requests of model tokens begin nothing although they are a POST', async (t) => {
  const reads: string[] = []
  for (const { method, path, scheme } of routes) {
    if (scheme !== 'modelToken') continue
    const { purpose } = await purposeOf(method, path, scheme)
    if (method !== 'POST') t.equal(purpose, 'read', `${method} ${path}`)
    else if (purpose !== 'create') reads.push(path)
  }
  t.strictSame(reads.toSorted(), ['/provA', '/provC/ent/v2/tasks/{id}/cancel', '/v1/quote'])
})

t.test('of the asset library, actions that make or change something are creations', async (t) => {
  for (const [action, purpose] of [
    ['CreateAsset', 'create'],
    ['CreateAssetGroup', 'create'],
    ['CreateVisualValidateSession', 'create'],
    ['UpdateAsset', 'create'],
    ['GetAsset', 'read'],
    ['ListAssets', 'read'],
    ['DeleteAsset', 'read'],
  ] as const)
    t.equal(
      (await purposeOf('POST', '/provA', 'modelToken', `?Action=${action}&Version=2024-01-01`))
        .purpose,
      purpose,
      action,
    )
})

t.test('for other tokens all but reads are changes', async (t) => {
  for (const { method, path, scheme } of routes)
    if (scheme !== 'modelToken') {
      const { purpose } = await purposeOf(method, path, scheme)
      t.equal(purpose, method === 'GET' ? 'read' : 'change', `${method} ${path}`)
    }
})
