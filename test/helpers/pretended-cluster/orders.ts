/** Orders that a test sends to a pretended cluster over the channel to its process. */

import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import type { NodeState } from '../../../infra/embedded/eventstore/gate.ts'
import { type Right, RIGHTS } from './cluster-state.ts'
import type { Silence } from './front.ts'

/** `member` is an index; where one may be left out, all are meant. */
export type Order =
  | { readonly kind: 'states'; readonly states: readonly NodeState[] }
  | { readonly kind: 'lead'; readonly member: number }
  | { readonly kind: 'ready'; readonly isReady: boolean }
  | { readonly kind: 'deny'; readonly rights: readonly Right[] }
  | { readonly kind: 'silence'; readonly member?: number; readonly how: Silence }
  | { readonly kind: 'end_appends'; readonly member: number; readonly how: 'error' | 'connection' }
  /** The member shows the log without its last `events`, whatever is written from then on. */
  | { readonly kind: 'lag'; readonly member: number; readonly events: number }
  | { readonly kind: 'fault'; readonly spec: string }
  | { readonly kind: 'recover' }

/** An order as it travels; it is answered with `{done: id}`, with a `reason` if it failed. */
interface OrderMessage {
  readonly id: number
  readonly order: Order
}

/** @throws {TypeError} for an invalid order */
export function parseOrder(message: unknown): OrderMessage | undefined {
  if (typeof message !== 'object' || message === null || !('order' in message)) return undefined
  const { id, order } = message as OrderMessage
  if (order.kind === 'states' && !order.states.every(isNodeState)) {
    throw new TypeError(`no such states: ${order.states.join(', ')}`)
  }
  if (order.kind === 'deny' && !order.rights.every((right) => RIGHTS.includes(right))) {
    throw new TypeError(`no such rights: ${order.rights.join(', ')}`)
  }
  return { id, order }
}

function isNodeState(state: string): boolean {
  return state in gossip.MemberInfo.VNodeState
}
