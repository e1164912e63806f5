import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { tollgateProcess, type Ended, type Environment } from './support/tollgate.ts'

/**
 * Starts that are wrong, without a store that answers: each ends with its status and one sentence that
 * names the variable, the file or the argument, never with a stack or a password.
 */

interface WrongStart {
  readonly name: string
  /** `serve` unless given. */
  readonly args?: readonly string[]
  readonly env?: Environment
  /** Files in the folder that it is started in, which is `$DIR` in values. */
  readonly files?: Readonly<Record<string, string>>
  /** 78 unless given. */
  readonly code?: number
  readonly says: readonly RegExp[]
}

const STORES = {
  EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
  DATABASE_URL: 'postgres://u:pass-word@127.0.0.1:1/tollgate',
  MARKER_SECRET: 'a marker secret of the tests alone',
  SANDBOX: 'on',
}
const CHANNEL = `channels:
  - id: own-images
    family: image
    base_url: http://127.0.0.1:8000/v1
    models: { image-2.5-flare: own-1 }
`
const serving = (env: Environment, ...says: readonly RegExp[]) => ({ env, says })
const external = (env: Environment, ...says: readonly RegExp[]) =>
  serving({ ...STORES, ...env }, ...says)
const channels = (text: string, ...says: readonly RegExp[]) => ({
  env: { CHANNELS_FILE: '$DIR/channels.yaml' },
  files: { 'channels.yaml': text },
  says,
})
const usage = (args: readonly string[], ...says: readonly RegExp[]) => ({ args, says, code: 2 })

const starts: readonly WrongStart[] = [
  // A wrong use.
  { name: 'an unknown command', ...usage(['sevre'], /unknown command 'sevre'/) },
  { name: 'an unknown option', ...usage(['serve', '--bogus'], /unknown option '--bogus'/) },
  { name: 'an unknown option of a command', ...usage(['audit', '--jsn'], /unknown option/) },
  { name: 'an option without its value', ...usage(['serve', '--role'], /argument missing/) },
  { name: 'an option that is missing', ...usage(['token', 'issue'], /required option/) },
  { name: 'a command of a group that is missing', ...usage(['token'], /Usage: tollgate token/) },
  {
    name: 'an unknown role',
    ...usage(
      ['serve', '--role', 'nonsense'],
      /unknown role nonsense; there are api, projector, worker/,
    ),
  },
  // Names.
  {
    name: 'a name that is nearly one of ours',
    ...serving(
      { DATBASE_POOL_SIZE: '9' },
      /DATBASE_POOL_SIZE is not .* did you mean DATABASE_POOL_SIZE\?/,
    ),
  },
  {
    name: 'the same for another command than serve',
    args: ['audit'],
    ...serving({ TRUSTED_PROXYS: 'x' }, /did you mean TRUSTED_PROXIES\?/),
  },
  {
    name: 'an unknown name in .env, and one of ours in small letters',
    args: ['config'],
    files: { '.env': 'SOMETHING=1\nport=8081\n' },
    says: [/2 fault\(s\)/, /SOMETHING in \.env is not/, /port in \.env .* did you mean PORT\?/],
  },
  {
    name: 'a name near ours, where the channel file reads another one',
    env: { CHANNELS_FILE: '$DIR/channels.yaml', LOG_LEVELS: 'x', S3_BUCKETS: 'x' },
    files: { 'channels.yaml': `${CHANNEL}    credential: { env: LOG_LEVELS }\n` },
    says: [/1 fault\(s\)/, /S3_BUCKETS is not/],
  },
  // Values.
  {
    name: 'several wrong values at once',
    ...serving(
      {
        PORT: 'http',
        HOST: 'example.com',
        LOG_LEVEL: 'loud',
        EVENTSTORE_NAMESPACE: '-',
        POLL_SCALE: 'x',
      },
      /5 fault\(s\)/,
      /- PORT must be/,
      /- HOST must be/,
      /- LOG_LEVEL must be/,
      /- EVENTSTORE_NAMESPACE must/,
      /- POLL_SCALE must be/,
    ),
  },
  {
    name: 'the same by config',
    args: ['config'],
    ...serving({ PORT: 'http' }, /PORT must be a whole number/),
  },
  {
    name: 'two ports that are one',
    ...serving({ PORT: '9', OPERATIONS_PORT: '9' }, /OPERATIONS_PORT must be another/),
  },
  { name: 'SANDBOX that is not on', ...serving({ SANDBOX: 'yes' }, /SANDBOX must be on/) },
  {
    name: 'SANDBOX together with CHANNELS_FILE',
    ...serving({ SANDBOX: 'on', CHANNELS_FILE: 'x' }, /exclude each other/),
  },
  {
    name: 'a store without the other',
    ...serving({ DATABASE_URL: 'postgres://h/x' }, /set both EVENTSTORE_URL and DATABASE_URL/),
  },
  { name: 'no secret', ...external({ MARKER_SECRET: '' }, /MARKER_SECRET must be set/) },
  ...['worker', 'projector', 'worker,projector'].map((role) => ({
    name: `no operations port for the role ${role}`,
    args: ['serve', '--role', role],
    ...external(
      {},
      /1 fault\(s\)/,
      /OPERATIONS_PORT must be set for a process without the role api/,
    ),
  })),
  { name: 'no provider', ...external({ SANDBOX: '' }, /CHANNELS_FILE must be set.*SANDBOX=on/) },
  {
    name: 'an unknown object storage',
    ...serving({ OBJECT_STORAGE: 'disk' }, /OBJECT_STORAGE must be one of/),
  },
  {
    name: 'object storage without its bucket',
    ...serving({ OBJECT_STORAGE: 's3' }, /S3_ENDPOINT/, /S3_BUCKET/, /S3_ACCESS_KEY_ID/),
  },
  {
    name: 'local objects without a URL',
    ...external({ OBJECT_STORAGE: 'local' }, /PUBLIC_BASE_URL must be set/),
  },
  {
    name: 'a proxy that is no address',
    ...serving({ TRUSTED_PROXIES: 'everybody' }, /TRUSTED_PROXIES: everybody/),
  },
  // Addresses of stores.
  {
    name: 'a wrong scheme',
    ...external({ EVENTSTORE_URL: 'http://127.0.0.1:1' }, /EVENTSTORE_URL must start with esdb/),
  },
  {
    name: 'a password that is not encoded',
    ...external(
      { DATABASE_URL: 'postgres://u:pass#pass-word@h/x' },
      /DATABASE_URL cannot be read: .*# as %23/,
    ),
  },
  {
    name: 'a port that is no number',
    ...external({ DATABASE_URL: 'postgres://u:pass-word@h:54x/x' }, /DATABASE_URL has a port/),
  },
  {
    name: 'a missing authority',
    ...external(
      { EVENTSTORE_URL: 'esdb://h:1?tlsCAFile=/none.pem' },
      /EVENTSTORE_URL: tlsCAFile names \/none\.pem.*ENOENT/,
    ),
  },
  {
    name: 'a URL and a price book at once',
    args: ['config'],
    ...external(
      { EVENTSTORE_URL: 'esdb://h:99999', PRICEBOOK_FILE: '/none.yaml' },
      /2 fault\(s\)/,
      /EVENTSTORE_URL has a port/,
      /PRICEBOOK_FILE/,
    ),
  },
  // Files.
  {
    name: 'a missing channel file',
    ...serving({ CHANNELS_FILE: '$DIR/none.yaml' }, /CHANNELS_FILE cannot be read: .*none\.yaml/),
  },
  { name: 'a channel file that is no YAML', ...channels('channels: [', /not YAML/) },
  { name: 'a channel file without channels', ...channels('other: 1\n', /a list `channels`/) },
  {
    name: 'an unknown family',
    ...channels(
      CHANNEL.replace('family: image', 'family: video-z'),
      /1 fault\(s\)/,
      /channels\[0\]\.family "video-z" is none of .*video-a/,
    ),
  },
  {
    name: 'a credential that is not set',
    ...channels(
      `${CHANNEL}    credential: { env: UPSTREAM_KEY }\n`,
      /environment variable UPSTREAM_KEY\) is not set/,
    ),
  },
  {
    name: 'a credential file that is missing',
    ...channels(`${CHANNEL}    credential: { file: /none }\n`, /file \/none\) is not set/),
  },
  {
    name: 'a member of no channel',
    ...channels(
      `${CHANNEL}    colour: red\n`,
      /channels\[0\]\.colour is a setting that no channel has/,
    ),
  },
  {
    name: 'two channels of one id',
    ...channels(CHANNEL + CHANNEL.replace('channels:\n', ''), /own-images is used twice/),
  },
  {
    name: 'a missing price book',
    ...serving(
      { PRICEBOOK_FILE: '$DIR/none.yaml' },
      /PRICEBOOK_FILE .*none\.yaml cannot be used: ENOENT/,
    ),
  },
  {
    name: 'a wrong price book',
    env: { PRICEBOOK_FILE: '$DIR/book.yaml' },
    files: { 'book.yaml': 'version: [' },
    says: [/PRICEBOOK_FILE .*book\.yaml cannot be used/],
  },
  // The data directory.
  {
    name: 'a data directory of the system',
    ...serving(
      { DATA_DIR: '/proc/x' },
      /directory \/proc\/x cannot be written: .*set DATA_DIR to another/,
    ),
  },
  {
    name: 'a data directory below a file',
    env: { DATA_DIR: '$DIR/file/data' },
    files: { file: 'x' },
    says: [/data directory .*file\/data cannot be written: .*set DATA_DIR/],
  },
  {
    name: 'a data directory of a newer release',
    env: { DATA_DIR: '$DIR/data' },
    files: { 'data/version': '99\n' },
    code: 76,
    says: [/written by a newer release/],
  },
  {
    name: 'the same for a command',
    args: ['audit'],
    env: { DATA_DIR: '$DIR/data' },
    files: { 'data/version': '99\n' },
    code: 76,
    says: [/written by a newer release/],
  },
  {
    name: 'a command without stores',
    args: ['audit'],
    env: { DATA_DIR: '$DIR/none' },
    code: 1,
    says: [/no (?:log|stores) in .*none yet/],
  },
  // Stores that are away: a command does not wait for them.
  {
    name: 'a command without Postgres',
    args: ['token', 'list', '--tenant', 'tenant_1'],
    env: STORES,
    code: 75,
    says: [/the Postgres of DATABASE_URL cannot be used: .*ECONNREFUSED/],
  },
]

const AT_ONCE = 4

async function inFolder<T>(run: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-wrong-'))
  try {
    return await run(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

function start({ args = ['serve'], env = {}, files = {} }: WrongStart): Promise<Ended> {
  return inFolder(async (directory) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true })
      await writeFile(join(directory, path), text)
    }
    const given = Object.entries({ PORT: '0', DATA_DIR: '$DIR/data', ...env })
    const values = given.map(([name, value]) => [name, value.replaceAll('$DIR', directory)])
    return tollgateProcess(args, Object.fromEntries(values), directory)
  })
}

t.test('each ends with its status and says why, in words', async (t) => {
  const waiting = [...starts.entries()]
  const ended: Ended[] = []
  const runNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      ended[next[0]] = await start(next[1])
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runNext))
  for (const [index, { name, code = 78, says }] of starts.entries()) {
    const { code: status, stdout = '', stderr = '' } = ended[index] ?? {}
    t.equal(status, code, `${name}: ${stderr}`)
    for (const words of says) t.match(stderr, words, name)
    t.notMatch(stderr, /\n\s+at |\[object |undefined/, name)
    t.notMatch(stdout + stderr, /pass-word/, name)
  }
})

t.test('a .env that is no file is refused', async (t) => {
  await inFolder(async (directory) => {
    await mkdir(join(directory, '.env'))
    const { code, stderr } = await tollgateProcess(['config'], {}, directory)
    t.equal(code, 78)
    t.match(stderr, /\.env cannot be read/)
  })
})

t.test('OPERATIONS_PORT that is taken is named', async (t) => {
  const squatter = createServer().listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  t.teardown(() => squatter.close())
  const { port } = squatter.address() as AddressInfo
  const env = { ...STORES, OPERATIONS_PORT: String(port) }
  for (const role of ['api', 'worker', 'projector']) {
    const { code, stderr } = await start({
      name: '',
      args: ['serve', '--role', role],
      env,
      says: [],
    })
    t.equal(code, 1, role)
    t.match(stderr, new RegExp(`:${port}: another program uses this port; set OPERATIONS_PORT to`))
  }
})
