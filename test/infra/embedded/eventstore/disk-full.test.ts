import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type EventData, jsonEvent, START, streamNameFilter } from '@eventstore/db-client'
import t from 'tap'
import { openClient } from '../../../../src/eventlog/log/connection.ts'
import { startEmbeddedServer } from '../../../contract/embedded-server.ts'
import { collect, numbered, numbersIn } from '../../../contract/setup.ts'

/**
 * A soft limit on the size of any file stands in for a full disk: writes past it fail in the
 * middle of LevelDB's log, and the limit can be lifted while the server runs.
 */
const FILE_LIMIT_BYTES = 1_000_000
const PAYLOAD = 'x'.repeat(20_000)
const MAX_APPENDS = 500
const RECOVERY_ATTEMPTS = 200
const CREDENTIALS = { username: 'unary', password: 'unary' }

const run = promisify(execFile)

t.test('a full disk acknowledges no lost append, reads go on, writes recover', async (t) => {
  const server = await startEmbeddedServer({
    // Without what the test runner loads into every process: it would end it on SIGXFSZ.
    under: ['env', '-u', 'NODE_OPTIONS', 'prlimit', `--fsize=${FILE_LIMIT_BYTES}:unlimited`],
  })
  t.teardown(() => server.stop())
  const client = openClient(server.url)
  t.teardown(() => client.dispose())
  const written = new Map<number, EventData[]>()
  const append = (n: number) => {
    const events = written.get(n) ?? [
      numbered(n),
      jsonEvent({ type: 'Padding', data: { n, PAYLOAD } }),
    ]
    written.set(n, events)
    return client.appendToStream(`full-${n}`, events, {
      expectedRevision: 'no_stream',
      credentials: CREDENTIALS,
    })
  }

  const fill = async (): Promise<{ acknowledged: number; failure: unknown }> => {
    for (let n = 0; n < MAX_APPENDS; n += 1) {
      const failure = await append(n).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure !== undefined) return { acknowledged: n, failure }
    }
    return { acknowledged: MAX_APPENDS, failure: undefined }
  }
  const { acknowledged, failure } = await fill()
  t.ok(acknowledged > 5 && acknowledged < MAX_APPENDS, `${acknowledged} were acknowledged`)
  t.match(failure, { type: 'timeout' }, 'the outcome of the append that failed is unknown')

  const whileFull = await append(acknowledged + 1).catch((error: unknown) => error)
  t.match(whileFull, { type: 'unavailable' }, 'then appends are refused outright')
  t.same(await numbersIn(client, 'full-0'), [0, 0], 'reads go on')
  const seen = await collect(client.readAll({ fromPosition: START }))
  t.equal(seen.length, acknowledged * 2, 'all that was acknowledged, nothing half-written')

  const filter = streamNameFilter({ prefixes: ['full-'] })
  const subscription = client.subscribeToAll({ fromPosition: START, filter })
  const followed = new Set<string>()
  const followsToTheEnd = new Promise<void>((resolve) => {
    subscription.on('data', ({ event }) => {
      followed.add(event?.streamId ?? '')
      if (event?.streamId === 'full-after') resolve()
    })
  })

  await run('prlimit', ['--pid', String(server.pid), '--fsize=unlimited'])
  const after = { expectedRevision: 'no_stream', credentials: CREDENTIALS } as const
  const recovered = numbered(1)
  let attempts = 0
  for (; attempts < RECOVERY_ATTEMPTS; attempts += 1) {
    const result = await client
      .appendToStream('full-after', recovered, after)
      .catch(() => undefined)
    if (result?.success === true) break
    await sleep(50)
  }
  t.ok(attempts < RECOVERY_ATTEMPTS, 'writes recover once there is space')
  // Whether the append that failed survived is unknown: sending it again settles it.
  const retried = await append(acknowledged).catch((error: unknown) => error)
  t.match(retried, { success: true })
  await followsToTheEnd
  for (let n = 0; n < acknowledged; n += 1) {
    if (!followed.has(`full-${n}`)) t.fail(`subscriber missed full-${n}`)
  }
  t.match(
    // It may have tried before there was space.
    server.logs.map(({ event }) => event).filter((event) => event !== 'recovery_failed'),
    ['ready', 'write_failed', 'recovered'],
  )
  await subscription.unsubscribe()
})
