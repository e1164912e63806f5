import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { call, queriesOf } from '../e2e/support/client.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { tollgate } from './support/commands.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const env = {
  EVENTSTORE_URL: stack.eventStoreUrl,
  DATABASE_URL: stack.databaseUrl,
  EVENTSTORE_NAMESPACE: stack.namespace,
  MARKER_SECRET: 'a marker secret of the tests',
  SANDBOX: 'on',
}
const run = (...args: readonly string[]) => tollgate(args, env)
const tenant = stack.demo.tenantId
const account = (command: string, ...args: readonly string[]) =>
  run('prices', 'account', command, '--tenant', tenant, ...args)
const whatIf = (...args: readonly string[]) =>
  run('prices', 'what-if', '--from', '2026-01-01T00:00:00Z', ...args)
const directory = await mkdtemp(join(tmpdir(), 'tollgate-account-prices-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
const shipped = await readFile(new URL('../../infra/pricebook.yaml', import.meta.url), 'utf8')
const VERSION = /^version: '(.*)'$/m.exec(shipped)?.[1] ?? ''

const chat = () =>
  call(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    token: stack.demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] }),
  })

t.test('prices are set by options, shown, and changed one by one', async (t) => {
  t.match(await account('show'), { code: 0, stdout: `${tenant}: list prices\n` })
  const set = await account(
    'set',
    '--multiplier',
    '0.90',
    '--price',
    'text-basic-output-token=1.5',
    '--price',
    'domestic-video-2-0-720p-novideo=40',
    '--actor',
    'Ada L.',
  )
  t.equal(set.code, 0, set.stderr)
  t.match(set.stdout, /^\S+: list prices × 0\.9, 2 own prices \(revision 1\)$/m)
  t.match(set.stdout, /^added +domestic-video-2-0-720p-novideo +CNY +40 per 1000000 token$/m)
  const shown = await account('show')
  t.match(shown.stdout, /^SKU +CURRENCY +LIST \S+ +TENANT +BY$/m)
  t.match(
    shown.stdout,
    /^domestic-video-2-0-720p-novideo +CNY +46 per 1000000 token +40 per 1000000 token +-13\.04 %$/m,
  )
  t.notMatch(shown.stdout, /480p/)
  t.match(
    (await account('show', '--all')).stdout,
    /^domestic-video-2-0-480p-novideo +CNY +46 per 1000000 token +41\.4 per 1000000 token +-10\.00 %$/m,
  )
  const changed = await account('set', '--remove', 'text-basic-output-token', '--no-multiplier')
  t.match(changed.stdout, /^\S+: list prices, 1 own price \(revision 2\)$/m)
  t.match(changed.stdout, /0 changed, 0 added, 1 unchanged/)
  t.match(JSON.parse((await account('show', '--json')).stdout), {
    tenantId: tenant,
    revision: 2,
    multiplier: null,
    priceBookVersion: VERSION,
    prices: [
      { sku: 'domestic-video-2-0-720p-novideo', tenant: { price: '40' }, percent: '-13.04' },
    ],
  })
  const again = await account('set', '--price', 'domestic-video-2-0-720p-novideo=40.0', '--json')
  t.match(JSON.parse(again.stdout), { changed: false, revision: 2 })
  t.match(again.stderr, /unchanged/)
})

t.test('a file sets all account prices, and clearing restores the list prices', async (t) => {
  const file = join(directory, 'account.yaml')
  await writeFile(
    file,
    `multiplier: '0.5'\nprices:\n  - { sku: a-new-sku, currency: USD, unit: call, per: 1, price: '0.25' }\n`,
  )
  const set = await account('set', '--file', file, '--json')
  t.match(JSON.parse(set.stdout), {
    revision: 3,
    changed: true,
    multiplier: '0.5',
    before: null,
    difference: { added: [{ sku: 'a-new-sku' }], removed: [{ price: '40' }] },
  })
  t.match((await account('show')).stdout, /^a-new-sku +USD +0\.25 per call$/m)
  await eventually('the half price counts', async () => {
    await chat()
    await stack.caughtUp()
    const { body } = await queriesOf(stack.url, stack.demo.queryToken).lines('limit=1')
    return body.data.items[0]?.account_prices === 3 ? true : undefined
  })
  t.match((await account('clear', '--actor', 'Bob')).stdout, /^\S+: list prices$/m)
  const history = await account('show', '--history')
  t.match(
    history.stdout,
    /^REVISION +SET +MULTIPLIER +OWN PRICES +BY +WHY\n1 +\S+ +0\.9 +2 +Ada L\.$/m,
  )
  t.match(history.stdout, /^4 +\S+ +0 +Bob$/m)
  t.match(JSON.parse((await account('show', '--history', '--json')).stdout), [
    { revision: 1, setBy: 'Ada L.' },
    { revision: 2 },
    { revision: 3 },
    { revision: 4, prices: [], setBy: 'Bob' },
  ])
  t.match(
    (await run('replay', '--tenant', tenant)).stdout,
    /AccountPricesSet[^\n]*list × 0\.9, 2 own prices[\s\S]*AccountPricesSet[^\n]*list prices again \(4\), by Bob/,
  )
})

t.test('invalid price options are refused with a reason', async (t) => {
  const refused = async (code: number, words: RegExp, ...args: readonly string[]) => {
    const ended = await account('set', ...args)
    t.equal(ended.code, code, args.join(' '))
    t.match(ended.stderr, words)
    t.equal(ended.stdout, '')
  }
  await refused(2, /at least one of --file/)
  await refused(1, /multiplier: must be a decimal from 0 to 100/, '--multiplier', '-1')
  await refused(
    1,
    /neither the tenant nor the book in effect has a price of nothing/,
    '--price',
    'nothing=1',
  )
  await refused(2, /1\.2345678 is not a price/, '--price', 'text-basic-output-token=1.2345678')
  await refused(
    1,
    /the tenant has no price of text-basic-output-token/,
    '--remove',
    'text-basic-output-token',
  )
  await refused(
    2,
    /cannot be combined with other options of prices/,
    '--file',
    'x.yaml',
    '--multiplier',
    '1',
  )
  t.match(await account('set', '--price', 'text-basic-output-token'), {
    code: 2,
    stderr: /<sku>=<price>/,
  })
  for (const command of ['show', 'clear'])
    t.match(await run('prices', 'account', command, '--tenant', 'tenant_none'), {
      code: 1,
      stderr: /there is no tenant tenant_none/,
    })
})

t.test(
  'what-if shows no difference under one book, the difference under another, and lacking prices',
  async (t) => {
    const same = await whatIf('--book', VERSION)
    t.equal(same.code, 0, same.stderr)
    t.match(
      same.stdout,
      /^TENANT +SKU +QUANTITY +UNIT +CURRENCY +RECORDED +WHAT IF +DIFFERENCE +BY$/m,
    )
    t.match(
      same.stdout,
      /^USD: \d+ lines, recorded (\S+), under \S+ \1: difference 0 \(0\.00 %\)$/m,
    )
    const file = join(directory, 'twice.yaml')
    await writeFile(
      file,
      `version: 'twice'\neffective_from: '2026-01-01T00:00:00Z'\nprices:\n` +
        `  - { sku: text-basic-output-token, currency: USD, unit: token, per: 1000, price: '0.004' }\n`,
    )
    const { book, rows, totals } = JSON.parse(
      (await whatIf('--book', file, '--tenant', tenant, '--json')).stdout,
    )
    t.equal(book, 'twice')
    t.match(rows, [
      { sku: 'text-basic-input-token', whatIf: null, difference: null },
      // Listed at 2 a million, rated at 4, with the tenant's own prices as they were.
      { tenantId: tenant, sku: 'text-basic-output-token', percent: '+100.00', currency: 'USD' },
    ])
    t.match(totals, [{ currency: 'USD', unpriced: { recorded: rows[0].recorded } }])
    t.match(
      (await whatIf('--book', file)).stdout,
      /^USD: \d+ lines of \S+ have no price in twice; /m,
    )
    t.match(await whatIf('--to', '2026-01-01T00:00:01Z'), {
      code: 0,
      stdout: 'there are no settlements in that time range\n',
    })
    t.same(JSON.parse((await whatIf('--to', '2026-01-01T00:00:01Z', '--json')).stdout), {
      book: VERSION,
      rows: [],
      totals: [],
    })
    t.match(await whatIf('--to', '2025-01-01'), { code: 2, stderr: /--to must be later/ })
    t.match(await whatIf('--book', 'none'), {
      code: 1,
      stderr: /neither a published price book nor/,
    })
  },
)
