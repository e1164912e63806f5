import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SwitchableFaults } from '../../infra/embedded/eventstore/faults.ts'
import { soleNode } from '../../infra/embedded/eventstore/gate.ts'
import { EventLog } from '../../infra/embedded/eventstore/log.ts'
import { startServer } from '../../infra/embedded/eventstore/server.ts'
import {
  DEFAULT_SERVER_VERSION,
  type ServerVersion,
} from '../../infra/embedded/eventstore/versions.ts'
import type { TestEventStore } from './eventstore.ts'

const HOST = '127.0.0.1'

function notHere(): never {
  throw new Error('this event store is part of the test: start with `storeProcess: true`')
}

/**
 * An embedded event store inside the test's own process, on a real socket and with its data on disk as ever. A process
 * of its own costs most of a CPU second to start, so only who kills or holds it takes one.
 */
export async function startLocalEventStore(
  version: ServerVersion = DEFAULT_SERVER_VERSION,
): Promise<TestEventStore> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-eventstore-'))
  const faults = new SwitchableFaults()
  const log = await EventLog.open(directory)
  const server = await startServer({ log, faults, gate: soleNode(), version, host: HOST, port: 0 })
  return {
    url: `esdb://${HOST}:${server.port}?tls=false`,
    directory,
    kill9: notHere,
    restart: notHere,
    freeze: notHere,
    thaw: notHere,
    setFault: (spec) => faults.set(spec),
    stop: async () => {
      await server.stop()
      await log.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
