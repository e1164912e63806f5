/**
 * A pretended cluster: three addresses of the embedded event store with one log behind them.
 *
 *     const cluster = await startPretendedCluster()
 *     t.teardown(() => cluster.stop())
 *     const log = createEventLog({ url: cluster.url, … })
 *     const stack = await startStack({ eventStore: cluster })  // a whole gateway on it
 *     await cluster.lead(1)                 // the leader changes; the old one now follows
 *     await cluster.silence(1, 'freeze')    // it takes connections and answers nothing
 *     await cluster.recover()               // everything as at the start, whoever led leads
 *
 * Every switch resolves once it is in effect. Members are named by their index in `ports`; 0 leads
 * at first. Nothing elects a leader by itself: after `silence` of the one that leads, the others
 * name it for ever (not alive in gossip, NotLeader with its address) until `lead` or
 * `nobodyLeads`. Not a cluster: there is no replication, everything committed is seen everywhere but
 * on a member that `lag` holds back.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NodeState } from '../../infra/embedded/eventstore/gate.ts'
import type { Right } from './pretended-cluster/cluster-state.ts'
import type { Silence } from './pretended-cluster/front.ts'
import type { Order } from './pretended-cluster/orders.ts'
import type { ServerVersion } from '../../infra/embedded/eventstore/versions.ts'
import { endChild, type Launched, launchChild } from './child.ts'
import type { TestEventStore } from './eventstore.ts'
import { lastingPort } from './lasting-port.ts'

const MAIN = new URL('./pretended-cluster/main.ts', import.meta.url)

/**
 * A running pretended cluster and its switches. As an event store its URL names all members, its
 * `freeze` holds the whole process, and `restart` brings it back as it was at first.
 */
export interface PretendedCluster extends TestEventStore {
  readonly ports: readonly number[]
  /** The process of them all. */
  readonly pid: () => number | undefined
  /** URL of one member, without discovery. */
  readonly memberUrl: (member: number) => string
  /** This member leads, the others follow. Open calls stay; appends on them end with NotLeader. */
  readonly lead: (member: number) => Promise<void>
  /**
   * Changes the leader, and the deposed leader ends its open append calls: with an error, or, as if
   * its process had ended, with their connections. Appends in progress there may be committed and
   * are never answered.
   */
  readonly depose: (next: number, how?: 'error' | 'connection') => Promise<void>
  /** Every member is `UNKNOWN`: no leader in gossip, appends answered "Server Is Not Ready". */
  readonly nobodyLeads: () => Promise<void>
  /** Any states, in the order of the members, as gossip names them. */
  readonly setStates: (...states: readonly NodeState[]) => Promise<void>
  /** Gossip is unchanged, but every append and read is answered "Server Is Not Ready". */
  readonly notReady: () => Promise<void>
  /**
   * A member, or all of them, refuses and breaks connections, or accepts them and does not answer.
   */
  readonly silence: (member: number | 'all', how: Silence) => Promise<void>
  /** A member shows the log without its last `events` and later ones: replication is behind. */
  readonly lag: (member: number, events: number) => Promise<void>
  /** Takes rights away, and gives back those not named. `authenticate` is UNAUTHENTICATED. */
  readonly deny: (...rights: readonly Right[]) => Promise<void>
  /** From now on appends are committed and never answered. `setFault('')` ends it. */
  readonly loseAnswers: () => Promise<void>
  /** Faults of the append path (see append-faults.ts), on every member. */
  readonly setFault: (spec: string) => Promise<void>
  /** Resets all members; the leader stays leader, otherwise the first one leads. */
  readonly recover: () => Promise<void>
}

/** Starts a pretended cluster of three with its data in a directory of its own. */
export async function startPretendedCluster(
  options: { readonly version?: ServerVersion } = {},
): Promise<PretendedCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-cluster-'))
  const version = options.version === undefined ? [] : ['--server-version', options.version]
  const launch = (ports: readonly number[]) =>
    launchChild(MAIN, [
      '--data',
      directory,
      ...ports.flatMap((port) => ['--port', String(port)]),
      ...version,
    ])
  const ports = [await lastingPort(), await lastingPort(), await lastingPort()]
  let running = await launch(ports)
  const { url } = running.ready
  const give = (order: Order): Promise<void> => giveOrder(running, order)
  let leader = 0
  const lead = async (member: number): Promise<void> => {
    await give({ kind: 'lead', member })
    leader = member
  }
  return {
    url,
    directory,
    ports,
    pid: () => running.child.pid,
    memberUrl: (member) => `esdb://127.0.0.1:${ports[member]}?tls=false`,
    lead,
    depose: async (next, how = 'error') => {
      const deposed = leader
      await lead(next)
      await give({ kind: 'end_appends', member: deposed, how })
    },
    nobodyLeads: () => give({ kind: 'states', states: ports.map(() => 'UNKNOWN') }),
    setStates: (...states) => give({ kind: 'states', states }),
    notReady: () => give({ kind: 'ready', isReady: false }),
    silence: (member, how) =>
      give({ kind: 'silence', how, ...(member === 'all' ? {} : { member }) }),
    lag: (member, events) => give({ kind: 'lag', member, events }),
    deny: (...rights) => give({ kind: 'deny', rights }),
    loseAnswers: () => give({ kind: 'fault', spec: 'lose-ack-every:1' }),
    setFault: (spec) => give({ kind: 'fault', spec }),
    recover: () => give({ kind: 'recover' }),
    freeze: () => void running.child.kill('SIGSTOP'),
    thaw: () => void running.child.kill('SIGCONT'),
    kill9: () => endChild(running.child, 'SIGKILL'),
    restart: async () => {
      await endChild(running.child, 'SIGTERM')
      running = await launch(ports)
      leader = 0
    },
    stop: async () => {
      running.child.kill('SIGCONT')
      await endChild(running.child, 'SIGTERM')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

let orders = 0

/** Sends an order and waits until it was carried out. @throws the cluster's error */
async function giveOrder({ child }: Launched, order: Order): Promise<void> {
  const id = (orders += 1)
  await new Promise<void>((resolve, reject) => {
    const end = (error?: Error): void => {
      child.off('message', hear)
      child.off('exit', leave)
      if (error === undefined) resolve()
      else reject(error)
    }
    const hear = (message: { readonly done?: number; readonly reason?: string }): void => {
      if (message.done !== id) return
      end(message.reason === undefined ? undefined : new Error(message.reason))
    }
    const leave = (): void => end(new Error('the cluster is gone'))
    child.on('message', hear)
    child.on('exit', leave)
    child.send({ id, order })
  })
}
