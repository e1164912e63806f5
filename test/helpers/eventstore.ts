import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SwitchableFaults } from './append-faults.ts'
import { soleNode } from '../../infra/embedded/eventstore/gate.ts'
import { ServerLog } from '../../infra/embedded/eventstore/log.ts'
import { startServer } from '../../infra/embedded/eventstore/server.ts'
import {
  DEFAULT_SERVER_VERSION,
  type ServerVersion,
} from '../../infra/embedded/eventstore/versions.ts'
import { createEventLog, type EventLogOptions } from '../../src/eventlog/log/client.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { endChild, launchChild, replaceFaults } from './child.ts'
import { lastingPort } from './lasting-port.ts'

/** An embedded event store of our own: its port stays the same over restarts. */
export interface TestEventStore {
  readonly url: string
  readonly directory: string
  /** Ends the process immediately, as a power cut would; resolves when it is gone. */
  readonly kill9: () => Promise<void>
  /** Starts it again (after ending it in order, if it runs) on the same data and port. */
  readonly restart: () => Promise<void>
  /** Holds the process without closing its connections; `thaw` lets it go on. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Replaces its faults (see append-faults.ts); only with `fault` given. */
  readonly setFault: (spec: string) => Promise<void>
  /** Ends it in order and removes its data. */
  readonly stop: () => Promise<void>
}

const HOST = '127.0.0.1'

function notHere(): never {
  throw new Error('this event store is part of the test: start with `storeProcess: true`')
}

/** An embedded event store whose data can be replaced by other data. */
interface LocalEventStore extends TestEventStore {
  /** Ends it in order, and starts it again at the same address on the data of another directory. */
  readonly serveFrom: (directory: string) => Promise<void>
  /** Copies its data, between two runs, to a new directory. */
  readonly copyTo: (directory: string) => Promise<void>
}

/**
 * An embedded event store inside the test's own process, on a real socket and with its data on disk as ever. A process
 * of its own costs most of a CPU second to start, so only who kills or holds it takes one.
 */
export async function startLocalEventStore(
  version: ServerVersion = DEFAULT_SERVER_VERSION,
): Promise<LocalEventStore> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-eventstore-'))
  const faults = new SwitchableFaults()
  const open = async (data: string, port: number) => {
    const log = await ServerLog.open(data)
    const place = { host: HOST, port }
    const server = await startServer({ log, hooks: faults, gate: soleNode(), version, place })
    const close = async (): Promise<void> => {
      await server.stop()
      await log.close()
    }
    return { close }
  }
  const port = await lastingPort()
  let running = await open(directory, port)
  return {
    url: `esdb://${HOST}:${port}?tls=false`,
    directory,
    kill9: notHere,
    restart: notHere,
    freeze: notHere,
    thaw: notHere,
    setFault: async (spec) => faults.set(spec),
    serveFrom: async (data) => {
      await running.close()
      running = await open(data, port)
    },
    copyTo: async (copy) => {
      await running.close()
      await cp(directory, copy, { recursive: true })
      running = await open(directory, port)
    },
    stop: async () => {
      await running.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const MAIN = new URL('../../infra/embedded/eventstore/main.ts', import.meta.url)
/** The event store with faults that can be changed. */
const FAULTY = new URL('faulty-eventstore.ts', import.meta.url)

interface EventStoreOptions {
  /** Faults from the start (see append-faults.ts); also enables `setFault`. */
  readonly fault?: string
  /** The generation of server stood in for; its default is the product's. */
  readonly version?: ServerVersion
}

/** Starts one on a directory and port; resolves with its process and port. */
function launch(directory: string, port: number, { fault, version }: EventStoreOptions) {
  return launchChild(fault === undefined ? MAIN : FAULTY, [
    '--data',
    directory,
    '--port',
    String(port),
    ...(fault === undefined ? [] : ['--fault', fault]),
    ...(version === undefined ? [] : ['--server-version', version]),
  ])
}

/** Starts one as a process of its own, with its data in a directory of its own. */
export async function startEventStore(options: EventStoreOptions = {}): Promise<TestEventStore> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-eventstore-'))
  const port = await lastingPort()
  let running = await launch(directory, port, options)
  return {
    url: `esdb://127.0.0.1:${port}?tls=false`,
    directory,
    kill9: () => endChild(running.child, 'SIGKILL'),
    restart: async () => {
      await endChild(running.child, 'SIGTERM')
      running = await launch(directory, port, options)
    },
    freeze: () => void running.child.kill('SIGSTOP'),
    thaw: () => void running.child.kill('SIGCONT'),
    setFault: (spec) => replaceFaults(running.child, spec),
    stop: async () => {
      running.child.kill('SIGCONT')
      await endChild(running.child, 'SIGTERM')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

let namespaces = 0

/** A namespace nobody else uses, also on a shared server. */
export function newNamespace(): string {
  namespaces += 1
  return `t${Date.now().toString(36)}${process.pid.toString(36)}n${namespaces}.`
}

/** A log in a namespace of its own, and the URL of the server behind it. */
interface TestEventLog {
  readonly log: EventLog
  readonly url: string
  readonly namespace: string
  /** Closes the log and ends the server if it was started for it. */
  readonly close: () => Promise<void>
}

/**
 * A real log: on the server `EVENTSTORE_URL` names, or on an embedded one started for it, or on
 * the one given.
 */
export async function testEventLog(
  options: Partial<EventLogOptions> & { readonly server?: TestEventStore } = {},
): Promise<TestEventLog> {
  const { server: given, ...logOptions } = options
  const shared = options.url ?? given?.url ?? process.env['EVENTSTORE_URL']
  const own = shared === undefined ? await startLocalEventStore() : undefined
  const url = shared ?? own?.url ?? ''
  const namespace = options.namespace ?? newNamespace()
  const log = createEventLog({ ...logOptions, url, namespace })
  return {
    log,
    url,
    namespace,
    close: async () => {
      await log.close()
      await own?.stop()
    },
  }
}
