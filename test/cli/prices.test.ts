import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { call } from '../e2e/support/client.ts'
import { eventually } from '../helpers/eventually.ts'
import { chatFirst, startStack } from '../helpers/stack.ts'
import { tollgate } from './support/commands.ts'

const stack = await startStack({ channels: chatFirst })
t.teardown(() => stack.stop())
const env = {
  EVENTSTORE_URL: stack.eventStoreUrl,
  DATABASE_URL: stack.databaseUrl,
  EVENTSTORE_NAMESPACE: stack.namespace,
  MARKER_SECRET: 'a marker secret of the tests',
  SANDBOX: 'on',
}
const run = (...args: readonly string[]) => tollgate(args, env)
const directory = await mkdtemp(join(tmpdir(), 'tollgate-prices-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
const shipped = await readFile(new URL('../../infra/pricebook.yaml', import.meta.url), 'utf8')
const SHIPPED_VERSION = /^version: '(.*)'$/m.exec(shipped)?.[1] ?? ''
const file = join(directory, 'book.yaml')
const write = (version: string, from: string, edit = (text: string) => text) =>
  writeFile(
    file,
    edit(
      shipped
        .replace(/^version: .*$/m, `version: '${version}'`)
        .replace(/^effective_from: .*$/m, `effective_from: '${from}'`),
    ),
  )
const PAST = '2026-01-01T00:00:00Z'
const FUTURE = '2999-01-01T00:00:00Z'
const publish = (...options: readonly string[]) => run('prices', 'publish', file, ...options)
const degraded = async () => {
  const { body } = await call(`${stack.url}/readyz`)
  return (body as { readonly degraded: readonly string[] }).degraded
}

t.test(
  'a book that only adds prices later is published; one with immediate changes asks first',
  async (t) => {
    await write('added', FUTURE, (text) =>
      text.concat("  - { sku: a-new-sku, currency: USD, unit: call, per: 1, price: '0.25' }\n"),
    )
    const added = await publish('--demonstrations', '--actor', 'Ada L.')
    t.equal(added.code, 0, added.stderr)
    t.match(added.stdout, /takes effect at 2999.*; it replaces/)
    t.match(added.stdout, /^added +a-new-sku +USD +0\.25 per call$/m)
    t.match(added.stdout, /0 removed, 0 changed, 1 added/)
    t.match(added.stdout, /^every served model has all its prices$/m)
    t.match(added.stdout, /^added: published$/m)
    t.match(await publish('--demonstrations'), { code: 0, stdout: 'added: was published before\n' })

    await write('dearer', PAST, (text) => text.replace("price: '46'", "price: '46.5'"))
    const asked = await publish('--demonstrations')
    t.equal(asked.code, 1)
    t.match(
      asked.stdout,
      /^changed +domestic\S+ +CNY +46 per 1000000 token +46\.5 per 1000000 token +\+1\.09 %$/m,
    )
    t.match(asked.stderr, /nothing was published: it takes effect immediately.*--yes/)
    t.notMatch(asked.stdout, /: published/)
    const said = await publish('--demonstrations', '--json')
    t.equal(said.code, 1)
    t.match(JSON.parse(said.stdout), {
      version: 'dearer',
      published: false,
      takesEffect: 'at_once',
      replaces: SHIPPED_VERSION,
      difference: {
        changed: [{ before: { price: '46' }, after: { price: '46.5' }, percent: '+1.09' }],
      },
      asked: [/immediately/],
    })
    t.notMatch((await run('prices', 'list')).stdout, /dearer/)
    t.match(await publish('--demonstrations', '--yes', '--actor', 'Ada L.'), {
      code: 0,
      stdout: /dearer: published/,
    })
  },
)

t.test('prices that would be lost are named, and --yes removes them', async (t) => {
  await write('list', PAST)
  const asked = await publish()
  t.equal(asked.code, 1)
  t.match(asked.stdout, /^removed +text-basic-input-token +USD +0\.5 per 1000000 token \(demonst/m)
  t.match(asked.stdout, /^served without a price, though sold now: text-basic \(text-basic-input-/m)
  t.match(asked.stderr, /it lacks \d+ of the prices of dearer; models sold now.*text-basic/)
  t.same(await degraded(), [])
  t.match(await publish('--yes'), { code: 0, stdout: /list-list: published/ })
  const found = await eventually('readiness names the models', async () =>
    (await degraded()).find((what) => what.includes('text-basic')),
  )
  t.match(found, /^prices: price book list-list has no price for .*text-basic \(text-basic-input/)
  t.equal((await call(`${stack.url}/readyz`)).status, 200, 'what has prices is still sold')
})

t.test('going back to a book that was replaced needs a new version', async (t) => {
  t.match(await publish('--demonstrations', '--yes'), { code: 0, stdout: /^list: published$/m })
  await eventually('every model has its price again', async () =>
    (await degraded()).length === 0 ? true : undefined,
  )
  const back = await publish('--yes')
  t.equal(back.code, 1, 'never “published before” while other prices are sold at')
  t.match(back.stderr, /list-list was published before and list has replaced it.*new version/)
  t.equal(back.stdout, '')
})

t.test('list, show and diff print tables and JSON', async (t) => {
  const listed = await run('prices', 'list')
  t.match(listed.stdout, /^VERSION +STATE +EFFECTIVE FROM +PRICES +PUBLISHED +BY\nadded +upcoming /)
  t.match(listed.stdout, /^list +in effect +2026-01-01T00:00:00\.000Z +\d+ /m)
  t.match(listed.stdout, /^dearer +replaced .* Ada L\.$/m)
  t.match(JSON.parse((await run('prices', 'list', '--json')).stdout), [
    { version: 'added', state: 'upcoming', publishedBy: 'Ada L.', prices: Number },
  ])
  const shown = await run('prices', 'show', 'dearer')
  t.match(shown.stdout, /^dearer, effective from 2026-01-01\S+, published \S+ by Ada L\.\nSKU/)
  t.match(shown.stdout, /^domestic-video-2-0-480p-novideo +CNY +46\.5 per 1000000 token$/m)
  t.match(JSON.parse((await run('prices', 'show', 'dearer', '--json')).stdout), {
    version: 'dearer',
    publishedBy: 'Ada L.',
    entries: [{ sku: String, currency: String, price: String, per: Number }],
  })
  const diff = await run('prices', 'diff', SHIPPED_VERSION, 'dearer')
  t.equal(diff.code, 0)
  t.match(
    diff.stdout,
    /^CHANGE +SKU +CURRENCY +BEFORE +AFTER +BY\nchanged +domestic-video-2-0-480p-no/,
  )
  t.match(JSON.parse((await run('prices', 'diff', 'dearer', 'list-list', '--json')).stdout), {
    from: 'dearer',
    to: 'list-list',
    added: [],
    removed: [{ demonstration: true }],
    changed: [{ before: { price: '46.5' }, after: { price: '46' } }],
  })
  for (const args of [
    ['show', 'none'],
    ['diff', 'none', 'list'],
  ])
    t.match(await run('prices', ...args), {
      code: 1,
      stderr: /no price book has the version none; known versions: .*list/,
    })
})

t.test('without channels only books are compared; an invalid file is refused', async (t) => {
  await write('unknown', FUTURE)
  const { SANDBOX: _, ...stores } = env
  const ended = await tollgate(['prices', 'publish', file], stores)
  t.equal(ended.code, 1)
  t.match(ended.stdout, /served models are unknown: CHANNELS_FILE is not set/)
  await writeFile(file, 'version: [')
  t.match(await publish(), { code: 1, stderr: /not YAML/ })
  const events = (await run('events')).stdout.trim().split('\n')
  const published = events.flatMap((line) => {
    const { type, metadata } = JSON.parse(line) as { type: string; metadata: { actor?: string } }
    return type === 'PriceBookPublished' ? [metadata.actor] : []
  })
  t.same(published.slice(0, 3), ['tollgate', 'Ada L.', 'Ada L.'])
  t.match(
    (await run('prices', 'publish', '--help')).stdout,
    /--yes[\s\S]*--actor|--actor[\s\S]*--yes/,
  )
})
