import { catalog, channelFamilies } from '../../../src/families/index.ts'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { ChannelFileError, parseChannels } from '../../../src/app/channels/load.ts'
import { sandboxTaskChannels, sandboxTextChannels } from '../../helpers/sandbox-channels.ts'
import { textFamilies } from '../../families/text/wires.ts'

const minimal = `
channels:
  - id: main
    family: video-a
    region: domestic
    base_url: https://upstream.example.test/api/v3
    credential: { env: UPSTREAM_KEY }
    models: { domestic-video-2-0: upstream-model }
`

function faultsOf(text: string, secret: string | undefined = 'secret-1'): readonly string[] {
  try {
    parseChannels(channelFamilies, text, () => secret)
  } catch (error) {
    if (error instanceof ChannelFileError) return error.faults
    throw error
  }
  return []
}

t.test('a minimal entry gets the defaults', async (t) => {
  t.same(
    parseChannels(channelFamilies, minimal, (source) =>
      'env' in source ? ` ${source.env}-value\n` : undefined,
    ),
    [
      {
        id: 'main',
        family: 'video-a',
        region: 'domestic',
        baseUrl: 'https://upstream.example.test/api/v3',
        credential: 'UPSTREAM_KEY-value',
        models: { 'domestic-video-2-0': 'upstream-model' },
        weight: 1,
        priority: 0,
        timeoutMs: 60_000,
        maxConcurrent: 64,
      },
    ],
  )
})

t.test('the example file is valid, covers every video model and every text wire', async (t) => {
  const text = readFileSync(
    new URL('../../../infra/channels.example.yaml', import.meta.url),
    'utf8',
  )
  const channels = parseChannels(channelFamilies, text, () => 'secret')
  const videos = [...catalog.taskFamilies.values()].filter(
    ({ simpleVideo }) => simpleVideo !== undefined,
  )
  for (const { family, models } of videos) {
    const serving = channels.filter((channel) => channel.family === family)
    const served = new Set(serving.flatMap((channel) => Object.keys(channel.models)))
    t.same(served, new Set(models.map(({ name }) => name)), family)
  }
  for (const family of textFamilies)
    t.ok(
      channels.some((channel) => channel.family === family),
      family,
    )
})

t.test('a text channel sets its limits and names its models', async (t) => {
  const text = (more: string) => `
channels:
  - id: chat-1
    family: chat
    region: overseas
    base_url: https://upstream.example.test/v1
    credential: { env: UPSTREAM_KEY }
    models: { text-basic: upstream-1 }
    largest_output_tokens: { text-basic: 128000 }
${more}`
  t.match(
    parseChannels(channelFamilies, text(''), () => 'secret'),
    [
      {
        id: 'chat-1',
        timeoutMs: 600_000,
        maxConcurrent: 2_048,
        settings: { largestOutputTokens: { 'text-basic': 128_000 } },
      },
    ],
  )
  t.match(
    parseChannels(
      channelFamilies,
      text(`
    first_byte_timeout_ms: 1000
    idle_timeout_ms: 2000
    drain_timeout_ms: 3000
    drain_max_bytes: 4000
    credential_header: x-native-api-key
    vector_stores: [vs_1, vs_2]
    passes: [provider, prediction]
    service_tiers: [flex]`),
      () => 'secret',
    ),
    [
      {
        credentialHeader: 'x-native-api-key',
        settings: {
          firstByteTimeoutMs: 1_000,
          idleTimeoutMs: 2_000,
          drainTimeoutMs: 3_000,
          drainMaxBytes: 4_000,
          vectorStores: ['vs_1', 'vs_2'],
          passes: ['provider', 'prediction'],
          serviceTiers: ['flex'],
        },
      },
    ],
  )
  t.match(
    faultsOf(text('').replace('text-basic:', 'domestic-video-2-0:')).join(),
    /cannot be the name of a text model/,
  )
  t.equal(
    faultsOf(text('    passes: [service_tier]')).length,
    1,
    'tiers are offered by their names',
  )
  t.match(
    faultsOf(text('    service_tiers: [default]')).join(),
    /default cannot be the name of a tier/,
  )
  t.match(
    faultsOf(`${minimal}    idle_timeout_ms: 1000\n`).join(),
    /only channels of chat, responses, native, messages have/,
  )
})

t.test('a speech account may set the form of its speech', async (t) => {
  const speech = (more: string) => `
channels:
  - id: speech-1
    family: speech
    region: overseas
    base_url: https://upstream.example.test
    credential: { env: UPSTREAM_KEY }
    models: { speech-2.8-hd: upstream-1 }
${more}`
  t.match(
    parseChannels(channelFamilies, speech('    audio_mode: hex'), () => 'secret'),
    [{ settings: { audioMode: 'hex' } }],
  )
  t.equal(faultsOf(speech('    audio_mode: raw')).length, 1)
  t.match(faultsOf(speech('').replace('speech-2.8-hd', 'speech-9')), [/name of a speech model/])
  t.match(faultsOf(`${minimal}    audio_mode: hex\n`), [/only channels of speech have/])
})

t.test('an unknown family is one fault, which names the known ones', async (t) => {
  const [fault, ...more] = faultsOf(minimal.replace('video-a', 'video-z'))
  t.match(fault, /^channels\[0\]\.family "video-z" is none of .*video-a, /)
  t.same(more, [])
})

t.test('a text model without its largest output is refused by name', async (t) => {
  const text = (more: string) => `
channels:
  - id: chat-1
    family: chat
    region: overseas
    base_url: https://upstream.example.test/v1
    credential: { env: UPSTREAM_KEY }
    models: { text-basic: upstream-1, text-reason: upstream-2 }
${more}`
  t.same(faultsOf(text('    largest_output_tokens: { text-basic: 1000 }')), [
    'channels[0].largest_output_tokens has no entry for text-reason: its maximum number of output tokens',
  ])
  t.equal(faultsOf(text('')).length, 2)
  const all = 'text-basic: 1, text-reason: 1'
  t.match(faultsOf(text(`    largest_output_tokens: { ${all}, text-other: 1 }`)), [
    /text-other is not a model of the channel/,
  ])
  for (const wrong of [0, 1.5, -1, 10_000_001])
    t.equal(
      faultsOf(text(`    largest_output_tokens: { ${all.replace('1', `${wrong}`)} }`)).length,
      1,
    )
  t.match(
    faultsOf(`${minimal}    largest_output_tokens: { domestic-video-2-0: 1 }\n`).join(),
    /only channels of chat, responses, native, messages have/,
  )
})

t.test('without a file the sandbox serves every text wire', async (t) => {
  const channels = sandboxTextChannels({ baseUrl: 'http://127.0.0.1:9300/' })
  t.same(
    channels.map(({ family, baseUrl }) => [family, baseUrl]),
    [
      ['chat', 'http://127.0.0.1:9300/v1'],
      ['responses', 'http://127.0.0.1:9300/v1'],
      ['native', 'http://127.0.0.1:9300/v1beta'],
      ['messages', 'http://127.0.0.1:9300/messages/v1'],
    ],
  )
})

t.test('all faults are reported at once, and never a credential', async (t) => {
  const faults = faultsOf(
    `
channels:
  - id: main
    family: video-a
    region: overseas
    base_url: ftp://user:pass@upstream.example.test/?a=1
    credential: { env: UPSTREAM_KEY }
    models: { domestic-video-2-0: m, domestic-video-2-0-260128: m, nothing: m }
  - id: main
    family: video-a
    region: domestic
    base_url: https://upstream.example.test
    credential: { file: /run/secrets/key }
    models: { domestic-video-2-0: m }
    wieght: 3
  - id: "Not An Id"
`,
    '',
  )
  const text = faults.join('\n')
  t.match(text, /channels\[0\]\.base_url must be http or https/)
  t.match(text, /channels\[0\]\.base_url must not carry credentials/)
  t.match(text, /domestic-video-2-0 belongs to another region/)
  t.match(text, /domestic-video-2-0-260128 is not an external model name/)
  t.match(text, /nothing is not an external model name/)
  t.match(text, /channels\[0\]\.credential \(environment variable UPSTREAM_KEY\) is not set/)
  t.match(text, /channels\[1\]/)
  t.match(text, /channels\[2\]/)
  t.notMatch(text, /pattern/, 'people read it')
  t.notMatch(text, /user:pass/)
})

t.test('region and credential are left out where a family does not need them', async (t) => {
  const entry = (family: string, model: string, more = '') => `
channels:
  - id: own
    family: ${family}
    base_url: http://127.0.0.1:8000/v1
    models: { ${model}: upstream-1 }
${more}`
  const largest = (model: string) => `    largest_output_tokens: { ${model}: 1000 }`
  for (const [family, model, more] of [
    ...textFamilies.map((family) => [family, 'text-own', largest('text-own')] as const),
    ['image', 'image-2', ''],
  ] as const) {
    const [channel] = parseChannels(channelFamilies, entry(family, model, more), () => undefined)
    t.match(channel, { id: 'own', family }, family)
    t.notOk(channel && ('region' in channel || 'credential' in channel), family)
  }
  t.same(faultsOf(entry('video-a', 'overseas-video-2-0')), [
    'channels[0].region is required for video-a, whose models and assets belong to a region: domestic or overseas',
    'channels[0].credential is required for video-a, whose provider knows the account by it: { env: NAME } or { file: PATH }',
  ])
  for (const [family, model] of [
    ['video-b', 'h3-video'],
    ['video-c', 'clipq2'],
    ['gen', 'gen-2.5-flash-image'],
    ['art-b', 'artB-5.0'],
    ['speech', 'speech-2.8-hd'],
  ] as const)
    t.match(faultsOf(entry(family, model)), [/^channels\[0\]\.credential is required/], family)
  t.same(
    faultsOf(entry('chat', 'text-own', `${largest('text-own')}\n    credential_header: x-api-key`)),
    ['channels[0].credential_header is for a credential, and the channel has none'],
  )
  t.match(
    faultsOf(
      entry('chat', 'text-own', `${largest('text-own')}\n    credential: { env: NONE }`),
      '',
    ),
    [/credential \(environment variable NONE\) is not set or empty/],
    'one that is named must be there',
  )
})

t.test('a channel id used twice is a fault', async (t) => {
  const entry = minimal.split('channels:')[1] ?? ''
  t.match(faultsOf(`${minimal}${entry}`).join(), /id main is used twice/)
})

t.test('a file without a channel list is refused with a plain message', async (t) => {
  t.match(faultsOf('channels: [').join(), /not YAML/)
  t.match(faultsOf('').join(), /must have a list/)
  t.match(faultsOf('channels: []').join(), /at least one/)
  t.match(faultsOf('channels: 7').join(), /must have a list/)
})

t.test('without a file the sandbox serves every model', async (t) => {
  const channels = sandboxTaskChannels({ baseUrl: 'http://127.0.0.1:9300/' })
  const served = new Set(channels.flatMap((channel) => Object.keys(channel.models)))
  for (const { simpleVideo, models } of catalog.taskFamilies.values())
    if (simpleVideo !== undefined) for (const { name } of models) t.ok(served.has(name), name)
  for (const { baseUrl } of channels) t.match(baseUrl, /^http:\/\/127\.0\.0\.1:9300(?:\/[a-z]|$)/)
})
