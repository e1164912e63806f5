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

/** An embedded event store of our own: its port stays the same over restarts. */
export interface TestEventStore {
  readonly url: string
  readonly directory: string
  /** Ends the process at once, as a power cut would; resolves when it is gone. */
  readonly kill9: () => Promise<void>
  /** Starts it again (after ending it in order, if it runs) on the same data and port. */
  readonly restart: () => Promise<void>
  /** Holds the process without closing its connections; `thaw` lets it go on. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Replaces its faults (see infra/embedded/eventstore/faults.ts); only with `fault` given. */
  readonly setFault: (spec: string) => void
  /** Ends it in order and removes its data. */
  readonly stop: () => Promise<void>
}

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
