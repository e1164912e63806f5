import { catalog, channelFamilies } from '../../../src/families/index.ts'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { ChannelFileError, parseChannels } from '../../../src/app/channels/load.ts'
import type { SecretResolver } from '../../../src/app/channels/secret-source.ts'

const KEYS = `
      access_key_id: { env: LIBRARY_KEY_ID }
      secret_access_key: { file: /run/secrets/library-key }`

const file = (library: string, entry = 'family: video-a') => `
channels:
  - id: main
    region: domestic
    ${entry}
    base_url: https://upstream.example.test/api/v3
    credential: { env: UPSTREAM_KEY }
    models: { domestic-video-2-0: upstream-model }
    library:
      base_url: https://library.example.test
      signing_region: test-region-1${library}
`

/** Secrets as files have them: with a line's end. */
const secrets: SecretResolver = (source) =>
  'env' in source ? ` ${source.env}-value\n` : 'SKTEST+secret/==\n'

function faultsOf(text: string, secretOf = secrets): readonly string[] {
  try {
    parseChannels(channelFamilies, text, secretOf)
  } catch (error) {
    if (error instanceof ChannelFileError) return error.faults
    throw error
  }
  return []
}

t.test('a channel has its library, its secrets trimmed; persons only if configured', async (t) => {
  const [channel] = parseChannels(channelFamilies, file(KEYS), secrets)
  t.same(channel?.library, {
    baseUrl: 'https://library.example.test',
    signingRegion: 'test-region-1',
    accessKeyId: 'LIBRARY_KEY_ID-value',
    secretAccessKey: 'SKTEST+secret/==',
    verifiesPersons: false,
  })
  const more = '\n      verifies_persons: true\n      project_name: films'
  const [whole] = parseChannels(channelFamilies, file(KEYS + more), secrets)
  t.match(whole?.library, { verifiesPersons: true, projectName: 'films' })
})

t.test('every fault of a library is reported at once, with those of its channel', async (t) => {
  const text = file(KEYS)
    .replace('https://library.example.test', 'ftp://user:pass@library.example.test/?a=1')
    .replace('domestic-video-2-0', 'nothing')
  const faults = faultsOf(text, (source) =>
    'env' in source && source.env === 'UPSTREAM_KEY' ? 'secret-1' : ' \n',
  )
  t.same(faults, [
    'channels[0].models.nothing is not an external model name',
    'channels[0].library.base_url must be http or https',
    'channels[0].library.base_url must not carry credentials, a query or a fragment',
    'channels[0].library.access_key_id (environment variable LIBRARY_KEY_ID) is not set or empty',
    'channels[0].library.secret_access_key (file /run/secrets/library-key) is not set or empty',
  ])
  t.match(faultsOf(file(KEYS).replace('https://library', 'library')), [
    'channels[0].library.base_url is not a URL',
  ])
})

t.test('a key written into the file itself is refused and not repeated', async (t) => {
  const faults = faultsOf(
    file('\n      access_key_id: AKWRITTEN\n      secret_access_key: SKWRITTEN'),
  )
  const text = faults.join('\n')
  t.match(text, /channels\[0\]\.library\.access_key_id/)
  t.match(text, /channels\[0\]\.library\.secret_access_key/)
  t.notMatch(text, /WRITTEN/)
})

t.test('unknown, missing or invalid settings of a library are faults', async (t) => {
  for (const wrong of [
    '',
    `${KEYS}\n      verify_persons: true`,
    `${KEYS}\n      verifies_persons: yes please`,
    `${KEYS}\n      project_name: ''`,
  ])
    t.match(faultsOf(file(wrong)).join(), /channels\[0\]\.library/, wrong)
  t.match(faultsOf(file(KEYS).replace('test-region-1', 'Test/Region')).join(), /signing_region/)
})

t.test('only channels of tasks that can use assets have a library', async (t) => {
  const others = [...catalog.taskFamilies.values()].filter(
    ({ takesAssets }) => takesAssets !== true,
  )
  t.ok(others.length > 1)
  for (const family of [...others.map(({ family }) => family), 'chat', 'speech'])
    t.match(
      faultsOf(file(KEYS, `family: ${family}`)).join('\n'),
      /channels\[0\]\.library is a setting that only channels of video-a have/,
      family,
    )
})

t.test('the example file has a library for each region', async (t) => {
  const text = readFileSync(
    new URL('../../../infra/channels.example.yaml', import.meta.url),
    'utf8',
  )
  const kept = parseChannels(channelFamilies, text, () => 'secret').filter(
    ({ library }) => library !== undefined,
  )
  t.same(
    kept.map(({ region, library }) => [region, library?.verifiesPersons]),
    [
      ['domestic', true],
      ['overseas', true],
    ],
  )
})
