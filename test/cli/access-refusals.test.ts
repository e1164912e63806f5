import t from 'tap'
import { addUser, openTenant } from '../../src/app/accounts/account-commands.ts'
import { sharedStack } from '../helpers/stack.ts'
import { tollgate } from './support/commands.ts'

const stack = await sharedStack(t)
const env = {
  EVENTSTORE_URL: stack.eventStoreUrl,
  DATABASE_URL: stack.databaseUrl,
  EVENTSTORE_NAMESPACE: stack.namespace,
  MARKER_SECRET: 'a marker secret of the tests',
  // So that it is known which models are served.
  SANDBOX: 'on',
}
const run = (...args: readonly string[]) => tollgate(args, env)
const tenant = 'tenant_acme'
await openTenant(stack.access, { tenantId: tenant, name: 'Acme' })
await addUser(stack.access, { tenantId: tenant, userId: 'user_second', name: 'Second' })

t.test(
  'exit code 1, or 2 for a wrong option, with one line of reason for impossible requests',
  async (t) => {
    const who = ['--tenant', tenant, '--user', 'user_second']
    const budget = ['--tenant', tenant, '--currency', 'CNY', '--period', 'day']
    for (const [args, why] of [
      [
        ['token', 'issue', '--tenant', 'tenant_none', '--user', 'u', '--kind', 'model'],
        /no tenant tenant_none/,
      ],
      [['token', 'issue', '--tenant', tenant, '--user', 'u', '--kind', 'model'], /has no user u$/m],
      [['token', 'issue', ...who, '--kind', 'root'], /--kind must be one of/],
      [['token', 'issue', ...who, '--kind', 'query', '--scope', 'all'], /--scope must be/],
      [
        ['token', 'issue', ...who, '--kind', 'admin', '--scope', 'current_user'],
        /all_users of its tenant, or all_tenants/,
      ],
      [
        ['token', 'issue', ...who, '--kind', 'model', '--expires', '2020-01-01'],
        /--expires must be in the future/,
      ],
      [['token', 'issue', ...who, '--kind', 'model', '--rpm', '0'], /--rpm must be a whole number/],
      [
        ['token', 'issue', ...who, '--kind', 'model', '--tpm', 'default'],
        /--tpm must be .* none$/m,
      ],
      [
        ['token', 'issue', ...who, '--kind', 'query', '--rpm', '5'],
        /only a model token has limits/,
      ],
      [['token', 'limit', 'token_none', '--rpm', '5'], /token does not exist/],
      [['token', 'limit', 'token_none', '--rpm', '1e3'], /--rpm must be .* none or default$/m],
      [
        ['token', 'limit', 'token_none'],
        /say --rpm, --tpm, --concurrent-calls, --concurrent-tasks/,
      ],
      [['token', 'update', 'token_none', '--name', 'x'], /token does not exist/],
      [['token', 'update', 'token_none'], /--name, --models, --addresses and --expires/],
      [
        ['token', 'issue', ...who, '--kind', 'model', '--addresses', '203.0.113.0/33'],
        /203\.0\.113\.0\/33 is not an IP address or a range/,
      ],
      [['token', 'rotate', 'token_none'], /no token token_none/],
      [['balance-alert', 'set', '--tenant', tenant], /--currency with --below/],
      [
        ['balance-alert', 'set', '--tenant', tenant, '--below', '1'],
        /--currency and --below must be given together/,
      ],
      [['balance-alert', 'set', '--tenant', tenant, '--webhook', 'http://a.b/'], /must use https/],
      [['balance-alert', 'set', '--tenant', tenant, '--webhook', 'https://10.0.0.1/'], /publicly/],
      [
        ['balance-alert', 'set', '--tenant', tenant, '--currency', 'CNY', '--below', '0'],
        /above zero/,
      ],
      [['balance-alert', 'remove', '--tenant', tenant, '--currency', 'CNY'], /no such alert/],
      [['balance-alert', 'show', '--tenant', 'tenant_none'], /no tenant tenant_none/],
      [['limit', 'set', '--tenant', tenant], /say --rpm, --tpm, --concurrent-calls/],
      [
        ['limit', 'set', '--tenant', tenant, '--rpm', 'default'],
        /--rpm must be a whole number from 1 .* or none/,
      ],
      [['limit', 'set', '--tenant', tenant, '--rpm', '0'], /--rpm must be a whole number from 1/],
      [
        ['limit', 'set', '--tenant', tenant, '--user', 'user_none', '--rpm', '1'],
        /no user user_none/,
      ],
      [['limit', 'remove', '--tenant', tenant], /no limits to remove/],
      [['limit', 'list', '--tenant', 'tenant_none'], /no tenant tenant_none/],
      [['budget', 'set', ...budget], /give --hard, --soft, or both/],
      [['budget', 'set', ...budget, '--hard', 'much'], /must be a decimal/],
      [['budget', 'set', ...budget, '--hard', '1', '--user', 'user_none'], /no user user_none/],
      [['budget', 'set', ...budget, '--hard', '1', '--token', 'token_none'], /no token token_none/],
      [
        ['budget', 'set', ...budget, '--hard', '1', '--user', 'a', '--token', 'b'],
        /--user and --token cannot be combined/,
      ],
      [['budget', 'set', ...budget, '--hard', '1', '--time-zone', 'Mars'], /IANA/],
      [['budget', 'remove', ...budget], /this budget does not exist/],
      [['budget', 'list', '--tenant', 'tenant_none'], /no tenant tenant_none/],
      [['token', 'disable', 'token_none'], /token/],
      [['credit', 'grant', '-5', '--tenant', tenant, '--currency', 'CNY'], /./],
      [['credit', 'grant', '1e3', '--tenant', tenant, '--currency', 'CNY'], /decimal/],
      [
        ['credit', 'grant', '5', '--tenant', tenant, '--currency', 'CNY', '--reference', 'é'],
        /--reference must be 1 to 128/,
      ],
      [
        [
          'credit',
          'grant',
          '5',
          '--tenant',
          tenant,
          '--currency',
          'CNY',
          '--reference',
          'x'.repeat(129),
        ],
        /--reference must be 1 to 128/,
      ],
      [
        ['credit', 'grant', '5', '--tenant', tenant, '--currency', 'CNY', '--credit', 'free'],
        /--credit must be one of paid, promotional/,
      ],
      [
        [
          'credit',
          'adjust',
          '1',
          '--tenant',
          tenant,
          '--currency',
          'CNY',
          '--grant',
          'g',
          '--reason',
          'x',
          '--code',
          'so',
        ],
        /--code must be one of duplicate/,
      ],
      [
        ['credit', 'grant', '5', '--tenant', tenant, '--currency', 'EUR'],
        /--currency must be one of/,
      ],
      [
        ['credit', 'grant', '5', '--tenant', 'tenant_none', '--currency', 'CNY'],
        /no tenant tenant_none/,
      ],
      [['tenant', 'users', '--tenant', 'tenant_none'], /no tenant tenant_none/],
      [['credit', 'balance', '--tenant', 'tenant_none'], /there is no tenant tenant_none$/m],
      [
        ['credit', 'balance', '--tenant', `${tenant}x`],
        new RegExp(`no tenant ${tenant}x: did you mean \`${tenant}\`\\?`),
      ],
      [['report', 'adjustments', '--tenant', 'tenant_none'], /no tenant tenant_none/],
      [['token', 'list', '--tenant', 'tenant_none'], /no tenant tenant_none/],
      [['receipt', 'call_none', '--tenant', 'tenant_none'], /no tenant tenant_none/],
      [
        ['prices', 'what-if', '--from', '2026-01-01', '--tenant', 'tenant_none'],
        /no tenant tenant_none/,
      ],
      [
        ['token', 'issue', ...who, '--kind', 'model', '--models', 'text-basik'],
        /`text-basik`: did you mean `text-basic`\?/,
      ],
      [['prices', 'publish', '/nowhere.yaml'], /no such file/],
    ] as const) {
      const ended = await run(...args)
      // A reason that names an option is a wrong use of the command.
      t.equal(ended.code, why.source.includes('--') ? 2 : 1, args.join(' '))
      t.match(ended.stderr, why)
      t.notMatch(ended.stderr, /\n\s+at /)
    }
  },
)
