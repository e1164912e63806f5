/**
 * Several servers over one log that pretend to be the members of a cluster, for tests of a client
 * when the leader changes or is gone, or while no member leads.
 */

import { randomUUID } from 'node:crypto'
import { serverNotReady, accessDenied } from '../../../infra/embedded/eventstore/errors.ts'
import { SwitchableFaults } from '../append-faults.ts'
import type { ServerLog } from '../../../infra/embedded/eventstore/log.ts'
import { type EventStoreServer, startServer } from '../../../infra/embedded/eventstore/server.ts'
import type { ServerVersion } from '../../../infra/embedded/eventstore/versions.ts'
import { ClusterState } from './cluster-state.ts'
import { Front } from './front.ts'
import { laggingLog } from './lagging-log.ts'
import type { Order } from './orders.ts'

const HOST = '127.0.0.1'

interface Node {
  readonly server: EventStoreServer
  readonly front: Front
}

export class PretendedCluster {
  readonly #state: ClusterState
  readonly #nodes: readonly Node[]
  readonly #faults: SwitchableFaults
  readonly #log: ServerLog
  /** The last position each lagging member shows, by its index. */
  readonly #lastShown: Map<number, number>

  private constructor(parts: {
    readonly state: ClusterState
    readonly nodes: readonly Node[]
    readonly faults: SwitchableFaults
    readonly log: ServerLog
    readonly lastShown: Map<number, number>
  }) {
    this.#state = parts.state
    this.#nodes = parts.nodes
    this.#faults = parts.faults
    this.#log = parts.log
    this.#lastShown = parts.lastShown
  }

  /** Starts a member on each port, 0 for any. The first leads. */
  static async start(
    log: ServerLog,
    version: ServerVersion,
    ports: readonly number[],
  ): Promise<PretendedCluster> {
    const faults = new SwitchableFaults()
    const state = new ClusterState(
      ports.map((port) => ({
        instanceId: randomUUID(),
        host: HOST,
        port,
        state: 'FOLLOWER',
        isAlive: true,
      })),
    )
    state.lead(0)
    const nodes: Node[] = []
    const lastShown = new Map<number, number>()
    for (const [index, port] of ports.entries()) {
      const gate = state.gateOf(index)
      const served = laggingLog(log, () => lastShown.get(index))
      const place = { host: HOST, port: 0 }
      const server = await startServer({ log: served, hooks: faults, gate, version, place })
      const front = await Front.open(HOST, port, server.port)
      state.setPort(index, front.port)
      nodes.push({ server, front })
    }
    return new PretendedCluster({ state, nodes, faults, log, lastShown })
  }

  get ports(): readonly number[] {
    return this.#nodes.map(({ front }) => front.port)
  }

  /** Carries out an order. @throws {TypeError} for one that makes no sense */
  async obey(order: Order): Promise<void> {
    switch (order.kind) {
      case 'states':
        return this.#state.setStates(order.states)
      case 'lead':
        this.#node(order.member)
        return this.#state.lead(order.member)
      case 'ready':
        return this.#state.setReady(order.isReady)
      case 'deny':
        this.#state.deny(order.rights)
        if (order.rights.includes('read_all')) this.#endReads()
        return
      case 'silence':
        return await this.#silence(order)
      case 'end_appends':
        if (order.how === 'connection') this.#node(order.member).front.breakConnections()
        else this.#node(order.member).server.endCalls('batch_appends', serverNotReady())
        return
      case 'lag':
        this.#node(order.member)
        this.#lastShown.set(order.member, this.#log.lastPosition - order.events)
        return
      case 'fault':
        return this.#faults.set(order.spec)
      case 'recover':
        return await this.#recover()
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map(({ front }) => front.close()))
    await Promise.all(this.#nodes.map(({ server }) => server.stop()))
  }

  /** An account that lost the right receives no further events. */
  #endReads(): void {
    for (const { server } of this.#nodes) server.endCalls('reads_of_all', accessDenied())
  }

  async #silence(order: Order & { readonly kind: 'silence' }): Promise<void> {
    for (const [index, { front }] of this.#nodes.entries()) {
      if (order.member !== undefined && order.member !== index) continue
      this.#state.setAlive(index, false)
      await front.fallSilent(order.how)
    }
  }

  async #recover(): Promise<void> {
    this.#faults.set('')
    this.#lastShown.clear()
    this.#state.deny([])
    this.#state.setReady(true)
    const leader = this.#state.members.findIndex(({ state }) => state === 'LEADER')
    this.#state.lead(Math.max(0, leader))
    for (const [index, { front }] of this.#nodes.entries()) {
      this.#state.setAlive(index, true)
      await front.recover()
    }
  }

  #node(index: number): Node {
    const node = this.#nodes[index]
    if (node === undefined) throw new TypeError(`the cluster has no member ${index}`)
    return node
  }
}
