import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerVersion } from '../../infra/embedded/eventstore/versions.ts'
import { createEventLog, type EventLogOptions } from '../../src/eventlog/log/client.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { endChild, launchChild } from './child.ts'
import { startLocalEventStore, type TestEventStore } from './local-eventstore.ts'

const MAIN = new URL('../../infra/embedded/eventstore/main.ts', import.meta.url)

export interface EventStoreOptions {
  /** Faults from the start (see infra/embedded/eventstore/faults.ts); also enables `setFault`. */
  readonly fault?: string
  /** The generation of server stood in for; its default is the product's. */
  readonly version?: ServerVersion
}

/** Starts one on a directory and port; resolves with its process and port. */
function launch(directory: string, port: number, { fault, version }: EventStoreOptions) {
  return launchChild(MAIN, [
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
  let running = await launch(directory, 0, options)
  const { port = 0 } = running.ready
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
    setFault: (spec) => void running.child.send({ fault: spec }),
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
export interface TestEventLog {
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
