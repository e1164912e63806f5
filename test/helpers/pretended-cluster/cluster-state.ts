/** The states of the members of a pretended cluster, and the calls that each therefore serves. */

import {
  accessDenied,
  noLeaderInfo,
  notLeader,
  serverNotReady,
  unauthenticated,
} from '../../../infra/embedded/eventstore/errors.ts'
import type { AccessGate, Member, NodeState } from '../../../infra/embedded/eventstore/gate.ts'

/** The rights that an account may lack: reading `$all`, appending, or authenticating. */
export const RIGHTS = ['read_all', 'append', 'authenticate'] as const
export type Right = (typeof RIGHTS)[number]

/** States in which a node serves what does not need the leader. */
const FOLLOWING: ReadonlySet<NodeState> = new Set([
  'PREREPLICA',
  'CATCHINGUP',
  'CLONE',
  'FOLLOWER',
  'READONLYREPLICA',
])

export class ClusterState {
  #members: readonly Member[]
  #isReady = true
  #denied: ReadonlySet<Right> = new Set()

  constructor(members: readonly Member[]) {
    this.#members = members
  }

  get members(): readonly Member[] {
    return this.#members
  }

  /** Changes the states of members; `states` in their order. */
  setStates(states: readonly NodeState[]): void {
    this.#members = this.#members.map((member, index) => ({
      ...member,
      state: states[index] ?? member.state,
    }))
  }

  /** One member leads, the others follow. */
  lead(leader: number): void {
    this.setStates(this.#members.map((_, index) => (index === leader ? 'LEADER' : 'FOLLOWER')))
  }

  setAlive(index: number, isAlive: boolean): void {
    this.#change(index, { isAlive })
  }

  setPort(index: number, port: number): void {
    this.#change(index, { port })
  }

  #change(index: number, change: Partial<Member>): void {
    this.#members = this.#members.map((member, at) =>
      at === index ? { ...member, ...change } : member,
    )
  }

  /** Whether members act according to their states; otherwise none is ready. */
  setReady(isReady: boolean): void {
    this.#isReady = isReady
  }

  deny(rights: readonly Right[]): void {
    this.#denied = new Set(rights)
  }

  /** The gate of one member. */
  gateOf(index: number): AccessGate {
    const stateOf = (): NodeState => this.#members[index]?.state ?? 'SHUTDOWN'
    return {
      members: () => this.#members,
      admitCall: () => {
        if (this.#denied.has('authenticate')) throw unauthenticated()
      },
      admitRead: (target, requiresLeader) => {
        if (target === 'all' && this.#denied.has('read_all')) throw accessDenied()
        if (stateOf() !== 'UNKNOWN' || requiresLeader) this.#admit(stateOf(), requiresLeader)
        else if (!this.#isReady) throw serverNotReady()
      },
      admitWrite: (requiresLeader) => {
        if (this.#denied.has('append')) throw accessDenied()
        this.#admit(stateOf(), requiresLeader)
        // A follower forwards a request to the leader unless the client requires the leader itself.
        if (this.#leader()?.isAlive !== true) throw serverNotReady()
      },
    }
  }

  #admit(state: NodeState, requiresLeader: boolean): void {
    if (!this.#isReady) throw serverNotReady()
    if (state === 'LEADER') return
    if (!FOLLOWING.has(state)) throw serverNotReady()
    if (!requiresLeader) return
    const leader = this.#leader()
    throw leader === undefined ? noLeaderInfo() : notLeader(leader)
  }

  #leader(): Member | undefined {
    return this.#members.find(({ state }) => state === 'LEADER')
  }
}
