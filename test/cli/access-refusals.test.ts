import t from 'tap'
import { addUser, openTenant } from '../../src/app/accounts/bootstrap.ts'
import { startStack } from '../helpers/stack.ts'
import { tollgate } from './support/commands.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const env = {
  EVENTSTORE_URL: stack.eventStoreUrl,
  DATABASE_URL: stack.databaseUrl,
  EVENTSTORE_NAMESPACE: stack.namespace,
  MARKER_SECRET: 'a marker secret of the tests',
}
const run = (...args: readonly string[]) => tollgate(args, env)
const tenant = 'tenant_acme'
await openTenant(stack.access, { tenantId: tenant, name: 'Acme' })
await addUser(stack.access, { tenantId: tenant, userId: 'user_second', name: 'Second' })

t.test('1 with one line why for what cannot be', async (t) => {
  const who = ['--tenant', tenant, '--user', 'user_second']
  for (const [args, why] of [
    [
      ['token', 'issue', '--tenant', 'tenant_none', '--user', 'u', '--kind', 'model'],
      /no tenant tenant_none/,
    ],
    [['token', 'issue', '--tenant', tenant, '--user', 'u', '--kind', 'model'], /has no user u$/m],
    [['token', 'issue', ...who, '--kind', 'root'], /--kind must be one of/],
    [['token', 'issue', ...who, '--kind', 'query', '--scope', 'all'], /--scope must be/],
    [
      ['token', 'issue', ...who, '--kind', 'model', '--expires', '2020-01-01'],
      /--expires must not be past/,
    ],
    [['token', 'issue', ...who, '--kind', 'model', '--rpm', '0'], /--rpm must be a whole number/],
    [['token', 'issue', ...who, '--kind', 'model', '--tpm', 'default'], /--tpm must be .* none$/m],
    [['token', 'issue', ...who, '--kind', 'query', '--rpm', '5'], /only a model token has limits/],
    [['token', 'limit', 'token_none', '--rpm', '5'], /token does not exist/],
    [['token', 'limit', 'token_none', '--rpm', '1e3'], /--rpm must be .* none or default$/m],
    [['token', 'limit', 'token_none'], /say --rpm, --tpm, --concurrent-tasks/],
    [['token', 'rotate', 'token_none'], /no token token_none/],
    [['token', 'disable', 'token_none'], /token/],
    [['credit', 'grant', '-5', '--tenant', tenant, '--currency', 'CNY'], /./],
    [['credit', 'grant', '1e3', '--tenant', tenant, '--currency', 'CNY'], /decimal/],
    [
      ['credit', 'grant', '5', '--tenant', tenant, '--currency', 'EUR'],
      /--currency must be one of/,
    ],
    [
      ['credit', 'grant', '5', '--tenant', 'tenant_none', '--currency', 'CNY'],
      /tenant does not exist/,
    ],
    [['tenant', 'users', '--tenant', 'tenant_none'], /no tenant tenant_none/],
    [['prices', 'publish', '/nowhere.yaml'], /no such file/],
  ] as const) {
    const ended = await run(...args)
    t.equal(ended.code, 1, args.join(' '))
    t.match(ended.stderr, why)
    t.notMatch(ended.stderr, /\n\s+at /)
  }
})
