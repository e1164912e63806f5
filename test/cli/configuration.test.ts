import { mkdtemp, rm, writeFile } from 'node:fs/promises'
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

t.test('settings are read from .env in the working directory; the environment wins', async (t) => {
  const cwd = await directory(t)
  const file = join(cwd, '.env')
  t.match(await tollgateProcess(['config'], {}, cwd), { code: 0, stdout: /^PORT=8080$/m })
  await writeFile(file, 'PORT=8123\nLOG_LEVEL=debug\nMARKER_SECRET=\n')
  const config = await tollgateProcess(['config'], { LOG_LEVEL: 'warn' }, cwd)
  t.match(config, { code: 0, stdout: /^PORT=8123$/m })
  t.match(config, { stdout: /^LOG_LEVEL=warn$/m })
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

t.test('external stores with the sandbox on purpose are accepted', async (t) => {
  const stores = {
    EVENTSTORE_URL: 'esdb://127.0.0.1:2113?tls=false',
    DATABASE_URL: 'postgres://127.0.0.1/tollgate',
    MARKER_SECRET: 'a marker secret of the tests alone',
    SANDBOX: 'on',
  }
  t.match(await tollgateProcess(['config'], stores), { code: 0, stdout: /^SANDBOX=on$/m })
})

t.test('the help names the commands', async (t) => {
  const help = await tollgateProcess(['--help'], {})
  t.equal(help.code, 0)
  for (const name of ['serve', 'replay', 'audit', 'rebuild', 'token', 'tenant', 'credit', 'prices'])
    t.match(help.stdout, new RegExp(`^  ${name}`, 'm'))
})
