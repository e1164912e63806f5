import { readFileSync } from 'node:fs'
import type { InjectOptions } from 'fastify'
import pino from 'pino'
import t from 'tap'
import { registerAccounts } from '../../src/api/accounts.ts'
import { createServer, defaultLimits } from '../../src/api/app.ts'
import type { Services } from '../../src/api/kit/services.ts'
import { queryEnvelope } from '../../src/api/query/envelope.ts'
import { type TokenRole, tokenRoles } from '../../src/domain/token/events.ts'
import { checkout } from '../helpers/checkout.ts'
import { memoryGateway, nowMs } from './support/app.ts'
import { noRefusedForms } from './support/no-throttle.ts'

/**
 * Every route of the queries and of the administration, as the server has registered it, is asked for with
 * every role, and compared with the table of `docs/surfaces/common.md`: a new route is decided there.
 */

/** Secrets of tokens without a role, by the prefix of their routes; those with one end in it. */
const secrets: Readonly<Record<string, readonly [kind: string, full: string]>> = {
  '/api/query/v1': ['qak', 'qak-all'],
  '/api/admin': ['adm', 'adm-one'],
}
const prefixes = Object.keys(secrets)

function secretOf(path: string, role: TokenRole | undefined): string {
  const prefix = prefixes.find((one) => path.startsWith(`${one}/`)) ?? ''
  const [kind = '', full = ''] = secrets[prefix] ?? []
  return role === undefined ? full : `${kind}-${role}`
}

interface Row {
  /** Such as `GET /api/admin/tenants/{tenant_id}`. */
  readonly route: string
  readonly roles: readonly TokenRole[]
}

/** The rows of the table of roles, one for each route. */
function rowsOf(page: string): readonly Row[] {
  const [, section = ''] = page.split('\n## Roles\n')
  const [table = ''] = section.split('\n## ')
  const lines = table.split('\n').filter((line) => line.startsWith('|'))
  const cellsOf = (line: string): readonly string[] => line.split('|').map((cell) => cell.trim())
  const [titles = []] = lines.map(cellsOf)
  return lines.slice(2).flatMap((line) => {
    const cells = cellsOf(line)
    const [, prefix = '', routes = ''] = cells
    const isOpen = (role: TokenRole): boolean => {
      const cell = cells[titles.indexOf(role)] ?? ''
      if (!/^(?:yes|no)\b/.test(cell)) throw new Error(`${role} is not decided: ${line}`)
      return cell.startsWith('yes')
    }
    const roles = tokenRoles.filter(isOpen)
    return [...routes.matchAll(/`([A-Z]+) (\/[^`]*)`/g)].map(([, method, path]) => ({
      route: `${method} ${prefix.replaceAll('`', '')}${path}`,
      roles,
    }))
  })
}

const rows = rowsOf(readFileSync(new URL('docs/surfaces/common.md', checkout), 'utf8'))

const app = createServer(
  { logger: pino({ level: 'silent' }), clock: { nowMs: () => nowMs } },
  defaultLimits,
  () => queryEnvelope,
)
const registered: { readonly method: string; readonly path: string }[] = []
app.addHook('onRoute', ({ method, url }) => {
  if (!prefixes.some((prefix) => url.startsWith(`${prefix}/`))) return
  for (const one of [method].flat())
    registered.push({ method: one, path: url.replaceAll(/:(\w+)/g, '{$1}') })
})
const { services } = memoryGateway()
// The routes below `/api` use no more of it.
const http = { refusedForms: noRefusedForms, endpoints: {} } as unknown as Services['http']
await registerAccounts(app, { ...services, http })
await app.ready()
t.teardown(() => app.close())

async function ask(role: TokenRole | undefined, method: string, path: string) {
  const answer = await app.inject({
    method: method as InjectOptions['method'] & string,
    url: path.replaceAll(/\{\w+\}/g, 'some'),
    headers: { authorization: `Bearer ${secretOf(path, role)}` },
    ...(/^(?:GET|HEAD|DELETE)$/.test(method) ? {} : { payload: {} }),
  })
  const body: unknown = method === 'HEAD' ? undefined : answer.json()
  return { status: answer.statusCode, body }
}

t.test('the table of roles has every route, once, and no other', async (t) => {
  const wanted = registered.filter(({ method }) => method !== 'HEAD')
  t.ok(wanted.length > 50, `${wanted.length} routes`)
  t.strictSame(
    rows.map(({ route }) => route).toSorted(),
    wanted.map(({ method, path }) => `${method} ${path}`).toSorted(),
  )
})

t.test('403 role_denied for the roles that the table closes a route to', async (t) => {
  for (const { method, path } of registered) {
    // HEAD is answered as GET.
    const row = rows.find(({ route }) => route === `${method.replace('HEAD', 'GET')} ${path}`)
    const full = await ask(undefined, method, path)
    t.not(full.status, 403, `${method} ${path} without a role`)
    for (const role of tokenRoles) {
      const title = `${method} ${path} with the role ${role}`
      const found = await ask(role, method, path)
      if (row?.roles.includes(role) === true)
        t.strictSame(found, full, `${title} is answered alike`)
      else t.equal(found.status, 403, title)
    }
  }
})

t.test(
  'the refusal names the role of the token and the one that may, in both shapes',
  async (t) => {
    const refusal = (message: string) => ({
      status: 403,
      body: { success: false, message, error: { code: 'role_denied' } },
    })
    t.strictSame(
      await ask('finance', 'GET', '/api/query/v1/tasks/{id}/history'),
      refusal(
        'GET /api/query/v1/tasks/{id}/history is for tokens of the role support, or without a role; this one has the role finance',
      ),
    )
    t.strictSame(
      await ask('support', 'PUT', '/api/admin/tenants/{tenant_id}/billing'),
      refusal(
        'PUT /api/admin/tenants/{tenant_id}/billing is for tokens of the role finance, or without a role; this one has the role support',
      ),
    )
    t.strictSame(
      await ask('support', 'POST', '/api/admin/tokens'),
      refusal('POST /api/admin/tokens is for tokens without a role; this one has the role support'),
    )
  },
)

t.test('no route that issues, changes or rotates a token is open to a role', async (t) => {
  const changing = rows.filter(({ route }) => /^(?!GET ).*\/tokens\b/.test(route))
  t.equal(changing.length, 4)
  for (const { route, roles } of changing) t.strictSame(roles, [], route)
})

t.test('the role is refused before a body is read, and a wrong path is 404', async (t) => {
  const json = { 'content-type': 'application/json' }
  for (const role of tokenRoles) {
    const headers = { authorization: `Bearer adm-${role}`, ...json }
    const tokens = { method: 'POST', url: '/api/admin/tokens', headers, payload: '{' } as const
    t.match(await app.inject(tokens), { statusCode: 403 })
    for (const prefix of prefixes)
      t.match(await ask(role, 'GET', `${prefix}/nothing`), {
        status: 404,
        body: { error: { code: 'not_found' } },
      })
  }
})
