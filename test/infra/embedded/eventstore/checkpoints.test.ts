import t, { type Test } from 'tap'
import { openClient } from '../../../../src/eventlog/log/connection.ts'
import {
  SERVER_VERSIONS,
  type ServerVersion,
} from '../../../../infra/embedded/eventstore/versions.ts'
import { startEmbeddedServer } from '../../../contract/embedded-server.ts'
import { several } from '../../../contract/setup.ts'
import { follow, type Followed, type FollowOptions, type Pair, rawClient } from './support/raw.ts'

const END: Pair = ['18446744073709551615', '18446744073709551615']

type Log = Awaited<ReturnType<typeof logOf>>

async function logOf(t: Test, version: ServerVersion) {
  const server = await startEmbeddedServer({ version })
  const client = openClient(server.url)
  t.teardown(async () => {
    await client.dispose()
    await server.stop()
  })
  const raw = rawClient(t, server.address)
  return {
    /** Appends events; returns the position of the last. */
    append: async (stream: string, count: number): Promise<number> => {
      const { position } = await client.appendToStream(stream, several(count))
      return Number(position?.commit ?? -1n)
    },
    follow: (options: FollowOptions) => follow(raw, options),
  }
}

const at = (position: number): Pair => [String(position), String(position)]

/** `c+31/0` for the checkpoint 31 behind a position. */
const behind = (position: number, words: readonly string[]): string[] =>
  words.map((word) => word.replace(/\+(\d+)/g, (_, offset) => String(position + Number(offset))))

const eventsOf = ({ said }: Followed): string[] => said.filter((word) => word.startsWith('e'))

/** What is said on the way to the end, by the number of unwanted events behind the start. */
const SILENT_LOGS: readonly {
  readonly count: number
  readonly said: Readonly<Record<ServerVersion, readonly string[]>>
}[] = [
  { count: 0, said: { '23.10': [], '24.10': [], '25.0': [] } },
  { count: 30, said: { '23.10': [], '24.10': ['c+0/+0'], '25.0': ['c+0/+0'] } },
  {
    count: 31,
    said: { '23.10': [], '24.10': ['c+0/+0', 'c+0/+0'], '25.0': ['c+0/+0', 'c+32/0'] },
  },
  {
    count: 32,
    said: { '23.10': ['c+1/0'], '24.10': ['c+0/+0', 'c+0/+0'], '25.0': ['c+0/+0', 'c+32/0'] },
  },
  {
    count: 63,
    said: {
      '23.10': ['c+1/0'],
      '24.10': ['c+0/+0', 'c+32/0', 'c+32/0'],
      '25.0': ['c+0/+0', 'c+32/0', 'c+64/0'],
    },
  },
  {
    count: 64,
    said: {
      '23.10': ['c+1/0', 'c+33/0'],
      '24.10': ['c+0/+0', 'c+32/0', 'c+32/0'],
      '25.0': ['c+0/+0', 'c+32/0', 'c+64/0'],
    },
  },
]

async function testSilentLogs(t: Test, log: Log, version: ServerVersion): Promise<void> {
  for (const { count, said } of SILENT_LOGS) {
    const start = await log.append('start', 1)
    if (count > 0) await log.append('unwanted', count)
    const prefix = `wanted-${count}`
    const expected = behind(start, said[version])
    const followed = log.follow({ from: at(start), prefix })
    await followed.says(t, ...expected, 'live')
    const next = `e${await log.append(prefix, 1)}`
    await followed.hears(next)
    for (const checkpoint of expected) {
      const [commit = '', prepare = ''] = checkpoint.slice(1).split('/')
      const resumed = log.follow({ from: [commit, prepare], prefix })
      await resumed.hears(next)
    }
    t.same(eventsOf(followed), [next], `${count} unwanted events behind the start`)
  }
}

async function testMatches(t: Test, log: Log, version: ServerVersion): Promise<void> {
  const start = await log.append('start', 1)
  await log.append('unwanted', 9)
  await log.append('match', 2)
  await log.append('unwanted', 20)
  const followed = log.follow({ from: at(start), prefix: 'match' })
  const words = {
    '23.10': ['live'],
    '24.10': ['c+11/+11', 'c+11/+11', 'live'],
    '25.0': ['c+11/+11', 'c+32/0', 'live'],
  }
  await followed.says(t, ...behind(start, ['e+10', 'e+11', ...words[version]]))
}

async function testFullPages(t: Test, log: Log, version: ServerVersion): Promise<void> {
  const start = await log.append('start', 1)
  await log.append('full', 70)
  const followed = log.follow({ from: at(start), prefix: 'full', window: 33 })
  await followed.hears('live')
  const first = followed.said.findIndex((word) => word.startsWith('c'))
  // Where the start is not considered, a page of 32 is less than the interval of 33.
  const pair = start + (version === '23.10' ? 64 : 32)
  t.same(followed.said.slice(first - 1, first + 1), [`e${pair}`, `c${pair}/${pair}`])
}

async function testLive(t: Test, log: Log): Promise<void> {
  const start = await log.append('start', 1)
  const followed = log.follow({ from: at(start), prefix: 'live', window: 4, interval: 2 })
  await followed.hears('live')
  for (let n = 0; n < 20; n += 1) await log.append(n % 5 === 4 ? 'live' : 'unwanted', 1)
  await followed.hears(`e${start + 20}`)
  const live = followed.said.slice(followed.said.indexOf('live') + 1)
  const checkpoints = live.filter((word) => word.startsWith('c'))
  t.equal(checkpoints.length, 2)
  for (const checkpoint of checkpoints) t.match(checkpoint, /^c(\d+)\/\1$/)
  t.same(eventsOf(followed), behind(start, ['e+5', 'e+10', 'e+15', 'e+20']))
}

async function testPairs(t: Test, log: Log): Promise<void> {
  const start = await log.append('start', 1)
  await log.append('pair', 3)
  const prefix = 'pair'
  const including = log.follow({ from: [String(start + 1), '0'], prefix })
  await including.hears('live')
  t.same(eventsOf(including), behind(start, ['e+1', 'e+2', 'e+3']))
  const excluding = log.follow({ from: at(start + 1), prefix })
  await excluding.hears('live')
  t.same(eventsOf(excluding), behind(start, ['e+2', 'e+3']))
  for (const far of ['9007199254740993', String(2n ** 63n - 1n)]) {
    for (const prepare of [far, String(BigInt(far) - 1n), '0']) {
      const followed = log.follow({ from: [far, prepare], prefix })
      await followed.hears('live')
      t.same(eventsOf(followed), [])
    }
  }
  for (const impossible of [
    ['3', '4'],
    [String(2n ** 63n), '0'],
  ] as const) {
    await log.follow({ from: impossible }).says(t, '!2 Exception was thrown by handler.')
  }
}

for (const version of SERVER_VERSIONS) {
  t.test(`server ${version}`, async (t) => {
    const log = await logOf(t, version)
    t.test('reports the start of a page without a match', (t) => testSilentLogs(t, log, version))
    t.test('reports the last match of a page', (t) => testMatches(t, log, version))
    t.test('ends a page after 32 matches, whatever the window', (t) =>
      testFullPages(t, log, version),
    )
    t.test('reports its live position about every window', (t) => testLive(t, log))
    t.test('accepts position pairs, also beyond exact doubles', (t) => testPairs(t, log))

    t.test('reports a checkpoint from the start without a match', async (t) => {
      const words = { '23.10': [], '24.10': [`c${END.join('/')}`], '25.0': ['c0/0'] }
      const followed = log.follow({ prefix: 'never', window: 100_000 })
      await followed.says(t, ...words[version], 'live')
    })

    t.test('treats 2^64-1 as the end of the log', async (t) => {
      await log.append('end', 3)
      const followed = log.follow({ from: END, prefix: 'end' })
      await followed.says(t, 'live')
      const next = await log.append('end', 1)
      await followed.says(t, 'live', `e${next}`)
    })
  })
}
