/**
 * Decides which callers a node of a cluster serves, and its report of the cluster. A single node is
 * the leader and serves every caller.
 */

import { randomUUID } from 'node:crypto'
import type gossip from '@eventstore/db-client/generated/gossip_pb.js'

export type NodeState = keyof typeof gossip.MemberInfo.VNodeState

/** A node as gossip reports it. */
export interface Member {
  readonly instanceId: string
  readonly host: string
  readonly port: number
  readonly state: NodeState
  readonly isAlive: boolean
}

/** Checks before a call is served; each throws a {@link WireError} to refuse. */
export interface AccessGate {
  /** Every call that carries credentials: all but gossip and the supported methods. */
  readonly admitCall: () => void
  readonly admitRead: (target: 'stream' | 'all', requiresLeader: boolean) => void
  readonly admitWrite: (requiresLeader: boolean) => void
  /** The cluster; the port is the server's own. */
  readonly members: (host: string, port: number) => readonly Member[]
}

/** The gate of a node that is its whole cluster. */
export function soleNode(): AccessGate {
  const instanceId = randomUUID()
  return {
    admitCall: () => undefined,
    admitRead: () => undefined,
    admitWrite: () => undefined,
    members: (host, port) => [{ instanceId, host, port, state: 'LEADER', isAlive: true }],
  }
}
