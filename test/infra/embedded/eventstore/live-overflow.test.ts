import { jsonEvent } from '@eventstore/db-client'
import t, { type Test } from 'tap'
import { openClient } from '../../../../src/eventlog/log/connection.ts'
import {
  SERVER_VERSIONS,
  type ServerVersion,
} from '../../../../infra/embedded/eventstore/versions.ts'
import { startEmbeddedServer } from '../../../contract/embedded-server.ts'
import { several } from '../../../contract/setup.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { follow, type Followed, type FollowOptions, rawClient } from './support/raw.ts'

const PREFIX = 'wanted'
const BURST_EVENTS = 100
/** Far more than what may be on its way to a reader and in its live buffer. */
const STALL_EVENTS = 90
const STALL_EVENT_BYTES = 60_000
const TOO_SLOW =
  '!10 Operation timed out: Consumer too slow to handle event while live. Client resubscription required.'

async function logOf(t: Test, version: ServerVersion) {
  const server = await startEmbeddedServer({ version })
  const client = openClient(server.url)
  t.teardown(async () => {
    await client.dispose()
    await server.stop()
  })
  const raw = rawClient(t, server.address)
  const last = async (): Promise<number> => {
    const { position } = await client.appendToStream('other', several(1))
    return Number(position?.commit ?? -1n)
  }
  return { client, last, follow: (options: FollowOptions) => follow(raw, options) }
}

const eventsOf = ({ said }: Followed): number[] =>
  said.filter((word) => word.startsWith('e')).map((word) => Number(word.slice(1)))

/** Waits until it was said so many times that there is nothing left to catch up with. */
const isLive = ({ said }: Followed, times: number): Promise<boolean> =>
  eventually('live', () => said.filter((word) => word === 'live').length === times || undefined)

const upTo = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => from + index)

for (const version of SERVER_VERSIONS) {
  t.test(`${version}: a burst reaches a subscriber that reads, once and in order`, async (t) => {
    const log = await logOf(t, version)
    for (const filter of [{}, { prefix: PREFIX }]) {
      const begin = await log.last()
      const followed = log.follow({ from: [String(begin), String(begin)], ...filter })
      await followed.hears('live')
      await log.client.appendToStream(`${PREFIX}-${begin}`, several(BURST_EVENTS))
      await followed.hears(`e${begin + BURST_EVENTS}`)
      // The older server's buffer is emptied as fast as it fills while a reader reads.
      await isLive(followed, version === '23.10' ? 1 : 2)
      t.same(eventsOf(followed), upTo(begin + 1, BURST_EVENTS))
    }
  })

  t.test(`${version}: a subscriber that does not read while live`, async (t) => {
    const log = await logOf(t, version)
    const begin = await log.last()
    const followed = log.follow({ from: 'end', prefix: PREFIX })
    await followed.hears('live')
    followed.call.pause()
    const text = 'x'.repeat(STALL_EVENT_BYTES)
    for (let n = 0; n < STALL_EVENTS; n += 1) {
      await log.client.appendToStream(PREFIX, jsonEvent({ type: 'Large', data: { text } }))
    }
    followed.call.resume()
    if (version === '23.10') {
      await followed.hears(TOO_SLOW)
      const seen = eventsOf(followed)
      t.same(seen, upTo(begin + 1, seen.length), 'what came came without a gap')
      t.ok(seen.length < STALL_EVENTS)
      return
    }
    await followed.hears(`e${begin + STALL_EVENTS}`)
    t.same(eventsOf(followed), upTo(begin + 1, STALL_EVENTS), 'catches up without loss')
    await isLive(followed, 2)
  })
}
