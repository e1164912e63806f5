import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { call } from '../e2e/support/client.ts'
import { startStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

/** Whom statements are from, set by operators over HTTP and at a shell. */

const stack = await startStack()
t.teardown(() => stack.stop())
const env = environmentOf(stack)
const { demo, other, access, url } = stack
const issue = async (level: 'all_tenants' | 'all_users', role?: 'finance') => {
  const { tenantId, userId } = other
  const input = { tenantId, userId, kind: 'admin', name: 'admin', scope: { level } } as const
  return (await issueToken(access, { ...input, ...(role && { role }) })).secret
}
const run = (...args: readonly string[]) => tollgate(['issuer', ...args], env)
const ask = (token: string, method: 'GET' | 'PUT', body?: object) =>
  call(`${url}/api/admin/issuer`, {
    method,
    token,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
const party = {
  legal_name: 'Tollgate Services Ltd',
  address: ['1 Gate Street', 'London'],
  country: 'GB',
}

t.test('operators without a role see and set the issuer', async (t) => {
  const unset = { legal_name: null, address: [], country: null, tax_id: null }
  const shown = await ask(demo.adminToken, 'GET')
  t.same(shown.body.data, { object: 'issuer', revision: 0, ...unset })
  t.match((await run('show')).stdout, /issuer \(revision 0\)\nstatements from: not set/)
  const [finance, tenant] = [await issue('all_tenants', 'finance'), await issue('all_users')]
  for (const [method, body] of [['GET'], ['PUT', party]] as const) {
    t.match(await ask(finance, method, body), {
      status: 403,
      body: { error: { code: 'role_denied' } },
    })
    t.match(await ask(tenant, method, body), {
      status: 403,
      body: { error: { code: 'scope_denied' } },
    })
  }
  const set = await ask(demo.adminToken, 'PUT', { ...party, tax_id: 'GB123456789' })
  t.match(set, { status: 200, body: { data: { revision: 1, ...party, changed: true } } })
  t.match(await ask(demo.adminToken, 'PUT', { ...party, tax_id: 'GB123456789' }), {
    body: { data: { revision: 1, changed: false } },
  })
})

t.test('a wrong member is named, and so is an outdated revision', async (t) => {
  for (const [body, param] of [
    [{ ...party, country: 'uk' }, 'country'],
    [{ ...party, address: [] }, 'address'],
    [{ ...party, legal_name: ' Acme' }, 'legal_name'],
    [{ ...party, tax_id: 'x\ny' }, 'tax_id'],
    [{ legal_name: 'Acme' }, 'address'],
    [{ ...party, number_prefix: 'A' }, 'number_prefix'],
  ] as const)
    t.match(await ask(demo.adminToken, 'PUT', body), {
      status: 400,
      body: { error: { code: 'invalid_request', param } },
    })
  t.match(await ask(demo.adminToken, 'PUT', { ...party, expected_revision: 0 }), {
    status: 409,
    body: { error: { code: 'issuer_changed', param: 'expected_revision' } },
  })
})

t.test('a shell changes the values that it names', async (t) => {
  const { code, stdout } = await run('set', '--tax-id', 'none', '--address', '2 Gate Street')
  t.equal(code, 0)
  t.equal(
    stdout,
    'issuer (revision 2)\nstatements from: Tollgate Services Ltd, 2 Gate Street, GB\ntax number: none\n',
  )
  t.match(await run('set', '--country', 'GB'), { code: 0, stderr: /unchanged/ })
  t.same(JSON.parse((await run('show', '--json')).stdout), {
    revision: 2,
    legalName: 'Tollgate Services Ltd',
    address: ['2 Gate Street'],
    country: 'GB',
  })
  t.match(await run('set'), { code: 2, stderr: /name a value to set/ })
  t.match(await run('set', '--country', 'uk'), { code: 1, stderr: /country/ })
  const [event] = (await access.log.readStream('issuer')).filter(
    ({ type }) => type === 'IssuerProfileSet',
  )
  t.match(event, { metadata: { actor: /.+/ }, data: { revision: 1, legalName: party.legal_name } })
})
