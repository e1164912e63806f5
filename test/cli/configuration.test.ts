import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tollgateProcess, type Ended, type Environment } from './support/tollgate.ts'

async function directory(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tollgate-faults-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

/** It ends with this code, by default that of a wrong configuration, and says why in words, without a stack. */
function refused(t: Test, ended: Ended, why: RegExp, code = 78): void {
  t.equal(ended.code, code)
  t.match(ended.stderr, why)
  t.notMatch(ended.stderr, /\n\s+at |\[object |undefined/)
}

const serve = (env: Environment) => tollgateProcess(['serve'], { PORT: '0', ...env })

t.test('every fault of the configuration is named at once', async (t) => {
  const ended = await serve({
    PORT: 'http',
    HOST: 'example.com',
    EVENTSTORE_URL: 'http://127.0.0.1:2113',
    LOG_LEVEL: 'loud',
    EVENTSTORE_NAMESPACE: '-',
  })
  refused(t, ended, /6 fault\(s\)/)
  for (const name of [
    'PORT',
    'HOST',
    'EVENTSTORE_URL',
    'LOG_LEVEL',
    'EVENTSTORE_NAMESPACE',
    'CHANNELS_FILE',
  ])
    t.match(ended.stderr, new RegExp(`- .*${name}`))
  const config = await tollgateProcess(['config'], { PORT: 'http' })
  refused(t, config, /PORT must be a whole number/)
})

t.test('settings are read from .env in the working directory; the environment wins', async (t) => {
  const cwd = await directory(t)
  const file = join(cwd, '.env')
  t.match(await tollgateProcess(['config'], {}, cwd), { code: 0, stdout: /^PORT=8080$/m })
  await writeFile(file, 'PORT=8123\nLOG_LEVEL=debug\nMARKER_SECRET=\n')
  const config = await tollgateProcess(['config'], { LOG_LEVEL: 'warn' }, cwd)
  t.match(config, { code: 0, stdout: /^PORT=8123$/m })
  t.match(config, { stdout: /^LOG_LEVEL=warn$/m })
  await rm(file)
  await mkdir(file)
  refused(t, await tollgateProcess(['config'], {}, cwd), /\.env cannot be read/)
})

t.test('external stores without a marker secret or without accounts are refused', async (t) => {
  const stores = {
    EVENTSTORE_URL: 'esdb://127.0.0.1:2113?tls=false',
    DATABASE_URL: 'postgres://127.0.0.1/tollgate',
  }
  const ended = await serve(stores)
  refused(t, ended, /2 fault\(s\)/)
  t.match(ended.stderr, /MARKER_SECRET must be set/)
  t.match(ended.stderr, /CHANNELS_FILE must be set.*SANDBOX=on/)
  t.equal(ended.stdout, '', 'nothing was started')
  refused(
    t,
    await tollgateProcess(['config'], { ...stores, MARKER_SECRET: 'k' }),
    /CHANNELS_FILE must/,
  )
  const simulated = { ...stores, MARKER_SECRET: 'k', SANDBOX: 'on' }
  t.match(await tollgateProcess(['config'], simulated), { code: 0, stdout: /^SANDBOX=on$/m })
})

t.test('a channel file that is missing or wrong is refused, every fault named', async (t) => {
  const path = await directory(t)
  const file = join(path, 'channels.yaml')
  const env = { DATA_DIR: join(path, 'data'), CHANNELS_FILE: file }
  const missing = await serve(env)
  refused(t, missing, /CHANNELS_FILE cannot be read: .*channels\.yaml/)
  t.equal(missing.stdout, '', 'nothing was started')
  await writeFile(file, 'channels:\n  - id: one\n    family: video-z\n')
  refused(t, await serve(env), /channel/i)
})

t.test('the channels are shown below the values, without their credentials', async (t) => {
  const path = await directory(t)
  const file = join(path, 'channels.yaml')
  await writeFile(
    file,
    `channels:
  - id: own-images
    family: image
    base_url: http://127.0.0.1:8000/v1
    models: { image-2.5-flare: own-1 }
  - id: video
    family: video-a
    region: domestic
    base_url: https://upstream.example.test/api/v3
    credential: { env: UPSTREAM_KEY }
    models: { domestic-video-2-0: m, domestic-video-2-5: n }
`,
  )
  const env = { DATA_DIR: path, CHANNELS_FILE: file, UPSTREAM_KEY: 'secret-1' }
  const { code, stdout } = await tollgateProcess(['config'], env)
  t.equal(code, 0)
  t.match(
    stdout,
    /^# channel own-images: image at http:\/\/127\.0\.0\.1:8000\/v1; without a credential; models image-2\.5-flare$/m,
  )
  t.match(
    stdout,
    /^# channel video: video-a at \S+; region domestic; with a credential; models domestic-video-2-0, domestic-video-2-5$/m,
  )
  t.notMatch(stdout, /secret-1/)
})

t.test(
  'a model without a price is refused, with the lines that the price book needs',
  async (t) => {
    const path = await directory(t)
    const [channels, book] = [join(path, 'channels.yaml'), join(path, 'book.yaml')]
    await writeFile(
      channels,
      `channels:
  - id: own-text
    family: chat
    base_url: http://127.0.0.1:1/v1
    models: { own-text: m }
    largest_output_tokens: { own-text: 100 }
  - id: own-voice
    family: audio
    base_url: http://127.0.0.1:1/v1
    models: { own-voice: m }
`,
    )
    const env = { DATA_DIR: join(path, 'data'), CHANNELS_FILE: channels }
    const skus = ['own-text-input-token', 'own-text-output-token', 'own-voice-character']
    const lineOf = (sku: string): string =>
      `  - { sku: ${sku}, currency: USD, unit: ${sku.replace(/.*-/, '')}, per: 1000000, price: 'PRICE' }`
    const lines = skus.map(lineOf).join('\n')
    for (const refusedBy of [tollgateProcess(['config'], env), serve(env)]) {
      const ended = await refusedBy
      refused(t, ended, /models that lack prices: own-text, own-voice\n/)
      t.match(ended.stderr, /Copy \S+pricebook\.yaml, set PRICEBOOK_FILE to the copy/)
      t.ok(ended.stderr.includes(lines), ended.stderr)
    }
    const head = "version: 'own-1'\neffective_from: '2026-01-01T00:00:00Z'\nprices:\n"
    await writeFile(book, head + lineOf(skus[0] ?? '').replace('PRICE', '0.5'))
    const own = { ...env, PRICEBOOK_FILE: book }
    const some = await tollgateProcess(['config'], own)
    refused(t, some, /models that lack prices: own-text, own-voice\n/)
    t.match(some.stderr, `Add these lines below \`prices:\` of ${book}`)
    t.notMatch(some.stderr, 'own-text-input-token')
    await writeFile(book, head + lines.replaceAll('PRICE', '0'))
    t.match(await tollgateProcess(['config'], own), {
      code: 0,
      stdout: /^# channel own-text: chat/m,
    })
  },
)

t.test('an unusable price book, address or data directory is named', async (t) => {
  const path = await directory(t)
  const external = {
    DATA_DIR: join(path, 'data'),
    MARKER_SECRET: 'k',
    SANDBOX: 'on',
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL: 'postgres://u:pass#word@127.0.0.1:1/tollgate',
  }
  const wrong: readonly (readonly [Environment, RegExp])[] = [
    [{ DATA_DIR: '/proc/x' }, /directory \/proc\/x cannot be written: .*set DATA_DIR to another/],
    [external, /DATABASE_URL cannot be read: .*# as %23/],
    [
      { DATA_DIR: external.DATA_DIR, PRICEBOOK_FILE: join(path, 'none.yaml') },
      /PRICEBOOK_FILE .*none\.yaml cannot be used: ENOENT/,
    ],
  ]
  for (const [env, why] of wrong) {
    const ended = await serve(env)
    refused(t, ended, why)
    t.notMatch(ended.stderr, /word@/, 'no part of a password')
  }
  const { DATA_DIR: _none, ...stores } = external
  refused(t, await tollgateProcess(['config'], stores), /DATABASE_URL cannot be read/)
})

t.test('an unknown command, option or role is refused with the known ones', async (t) => {
  for (const [args, why] of [
    [['sevre'], /unknown command/],
    [['audit', '--jsn'], /unknown option/],
    [['serve', '--role', 'boss'], /unknown role boss; there are api, projector, worker/],
    [['token', 'issue'], /required option/],
  ] as const)
    refused(t, await tollgateProcess(args, { DATA_DIR: await directory(t) }), why, 2)
  const help = await tollgateProcess(['--help'], {})
  t.equal(help.code, 0)
  for (const name of ['serve', 'replay', 'audit', 'rebuild', 'token', 'tenant', 'credit', 'prices'])
    t.match(help.stdout, new RegExp(`^  ${name}`, 'm'))
})
