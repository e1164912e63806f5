import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openTenant } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { setIssuer } from '../../src/app/finance/statements/issuer.ts'
import { toTimestamp } from '../../src/kernel/clock.ts'
import { readParquet } from '../helpers/parquet.ts'
import { startStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

/** `tollgate close`, of tenants that were opened two months ago. */

const PUBLIC = { PUBLIC_BASE_URL: 'https://gateway.example' }
const stack = await startStack({ env: PUBLIC })
t.teardown(() => stack.stop())
const env = { ...environmentOf(stack), ...PUBLIC }
const close = (...args: readonly string[]) => tollgate(['close', ...args], env)

const now = new Date()
const monthStart = (further: number): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + further, 1)
const monthOf = (further: number): string => toTimestamp(monthStart(further)).slice(0, 7)
const [first, last] = [monthOf(-2), monthOf(-1)]
const past = { ...stack.access, clock: { nowMs: () => monthStart(-2) + 60_000 } }
for (const tenantId of ['acme', 'beta']) {
  await openTenant(past, { tenantId, name: tenantId })
  const grant = { tenantId, amount: '1000', reason: 'bank transfer', grantId: 'first' }
  await grantCredit(past, { ...grant, currency: 'USD' })
}
await stack.caughtUp()
const despite = [
  '--despite',
  'audit_old',
  '--despite',
  'audit_found',
  '--reason',
  'the audit runs tonight',
] as const

t.test('status 2 names the option that is missing or that another one excludes', async (t) => {
  for (const [args, message] of [
    [[], 'give either --month or --until'],
    [['--month', last, '--until', last, '--tenant', 'acme'], 'give either --month or --until'],
    [['--month', last], 'give either --tenant or --all'],
    [['--month', last, '--tenant', 'acme', '--all'], 'give either --tenant or --all'],
    [['--until', last], '--until is for one tenant: give --tenant'],
    [['--until', last, '--tenant', 'acme', '--preview'], '--preview is of one month: give --month'],
    [['--month', '2026-13', '--all'], '--month must be a year and a month, such as 2026-11'],
    [['--until', 'last', '--tenant', 'acme'], '--until must be a year and a month'],
    [['--month', last, '--all', '--currency', 'EUR'], '--currency must be one of CNY, USD'],
    [['--month', last, '--all', '--despite', 'books_differ', '--reason', 'x'], '--despite must be'],
    [['--month', last, '--all', '--despite', 'audit_old'], '--despite and --reason are given'],
    [['--month', last, '--all', '--reason', 'x'], '--despite and --reason are given together'],
  ] as const) {
    const { code, stderr } = await close(...args)
    t.equal(code, 2, args.join(' '))
    t.ok(stderr.includes(message), stderr)
  }
})

t.test('status 1 and a row that says why, where an account cannot be closed', async (t) => {
  const { code, stdout } = await close('--tenant', 'acme', '--month', first)
  t.equal(code, 1)
  t.match(stdout, /^TENANT +CURRENCY +STATEMENT +OPENING +CLOSING +POSTINGS +STATE\n/)
  t.match(stdout, /^acme +USD +open: No audit has ended yet; The tenant has no billing details; /m)
  t.match(await close('--tenant', 'nobody', '--month', first), { code: 1, stderr: /no tenant/ })
  t.match(await close('--tenant', 'acme', '--month', monthOf(-3)), {
    code: 0,
    stdout: '',
    stderr: `there is no account in ${monthOf(-3)}`,
  })
})

t.test('months are closed in their order, and a closed one is shown again', async (t) => {
  for (const tenantId of ['acme', 'beta']) {
    const address = ['--address', 'Torstr. 1', '--country', 'DE', '--grace-hours', '0']
    const names = ['--legal-name', tenantId, '--number-prefix', tenantId.toUpperCase()]
    const set = ['billing', 'set', '--tenant', tenantId, ...names, ...address]
    t.equal((await tollgate(set, env)).code, 0)
  }
  const wanted = { legalName: 'Tollgate GmbH', address: ['Weg 2'], country: 'DE' }
  await setIssuer({ ...stack.access, correlationId: 'test', actor: 'test' }, { wanted })
  await stack.caughtUp()
  const ofAcme = ['--tenant', 'acme', '--currency', 'USD'] as const

  const preview = await close(...ofAcme, '--month', first, '--preview')
  t.match(preview, { code: 0, stdout: /^acme +USD +0 +1000 +1 +preview: No audit has ended yet$/m })
  const later = await close(...ofAcme, '--month', last, '--preview')
  t.match(later, { code: 1, stdout: /^acme +USD +open: .*\S/m }, 'its opening is not known yet')

  const closed = await close(...ofAcme, '--month', first, ...despite)
  t.match(closed, { code: 0, stdout: /^acme +USD +ACME-0001 +0 +1000 +1 +closed$/m }, closed.stderr)
  const again = await close(...ofAcme, '--month', first)
  t.match(again, { code: 0, stdout: /^acme +USD +ACME-0001 +0 +1000 +1 +closed$/m })

  const until = await close(...ofAcme, '--until', last, ...despite, '--json')
  t.equal(until.code, 0, until.stderr)
  t.match(JSON.parse(until.stdout), {
    items: [
      {
        month: last,
        tenant_id: 'acme',
        currency: 'USD',
        status: 'closed',
        statement: 'ACME-0002',
        opening: '1000',
        closing: '1000',
        postings: 0,
        blockers: [],
      },
    ],
  })
  const none = await close(...ofAcme, '--until', last, ...despite)
  t.match(none, { code: 0, stderr: /nothing was left to close/ })
})

t.test('every account that is ready is closed, and the others stay open', async (t) => {
  const { code, stdout } = await close('--month', first, '--all', ...despite)
  t.equal(code, 0, stdout)
  t.match(stdout, /^acme +USD +ACME-0001 .*closed$/m)
  t.match(stdout, /^beta +USD +BETA-0001 +0 +1000 +1 +closed$/m)
  const board = await tollgate(['report', 'periods', '--month', last, '--format', 'json'], env)
  t.equal(board.code, 0, board.stderr)
  t.match(JSON.parse(board.stdout), {
    items: [
      { tenant_id: 'acme', currency: 'USD', status: 'closed', statement: 'ACME-0002' },
      { tenant_id: 'beta', currency: 'USD', status: 'open', statement: null },
    ],
  })
  const months = ['--tenant', 'acme', '--currency', 'USD'] as const
  const table = await tollgate(['report', 'periods', ...months], env)
  t.match(table.stdout, new RegExp(`${first}.*closed[^]*${last}.*closed[^]*${monthOf(0)}.*open`))
})

t.test('the lines of a closed month are a file that its position names', async (t) => {
  const of = ['--tenant', 'acme', '--currency', 'USD'] as const
  const exported = (...args: readonly string[]) => tollgate(['export', 'lines', ...args], env)
  const folder = t.testdir({})
  const period = ['--period', first, '--format', 'parquet'] as const
  const made = await exported(...of, ...period, '--out', folder)
  t.equal(made.code, 0, made.stderr)
  const [name = '', ...others] = readdirSync(folder)
  t.same(others, [])
  t.match(name, new RegExp(`^ledger-lines_acme_${first}-01_${last}-01_at-\\d+\\.parquet$`))
  t.same((await readParquet(readFileSync(join(folder, name)))).rows, [])
  for (const [args, message, status] of [
    [[...of, '--period', monthOf(0)], `${monthOf(0)} is not closed in USD`, 1],
    [[...of, ...period, '--month', last], '--month cannot be combined with --period', 2],
    [[...of, ...period, '--as-of', '1'], '--as-of cannot be combined with --period', 2],
    [[...of, '--period', first, '--format', 'focus'], 'FOCUS has billing periods of its own', 2],
    [['--tenant', 'acme', ...period], '--period needs --tenant and --currency', 2],
  ] as const) {
    const { code, stdout, stderr } = await exported(...args)
    t.same([code, stdout], [status, ''], args.join(' '))
    t.match(stderr, message)
  }
})
