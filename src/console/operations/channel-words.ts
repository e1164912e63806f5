import type { OperationsReads } from '../../api/operating/operations.ts'

/** The state of a channel, in words. */

export type Channels = ReturnType<OperationsReads['channels']>
export type ChannelFacts = Channels[number]

interface ChannelState {
  readonly words: string
  /** `good`, `look` for some users, `bad` for all. */
  readonly tone: 'good' | 'look' | 'bad'
}

/** Whether a channel takes calls, and from whom it takes none. */
export function channelState({ breaker, shutUsers }: ChannelFacts): ChannelState {
  if (breaker === 'open')
    return { words: 'paused after failures, tries again by itself', tone: 'bad' }
  if (breaker === 'half_open') return { words: 'tries a few calls after a pause', tone: 'bad' }
  if (shutUsers === 0) return { words: 'accepts calls', tone: 'good' }
  const users = shutUsers === 1 ? '1 user' : `${shutUsers} users`
  return { words: `accepts calls, and is paused for ${users} whose calls failed`, tone: 'look' }
}

/** The warning in the head of every page; undefined: nothing is wrong. */
export function alertWords({
  reasons = [],
  paused,
}: ReturnType<OperationsReads['attention']>): string | undefined {
  const [first, ...others] = reasons
  if (first !== undefined)
    return `Not ready: ${first}${others.length === 0 ? '' : `, and ${others.length} more`}`
  if (paused.length === 0) return undefined
  return paused.length === 1
    ? `Channel ${paused[0] ?? ''} is paused after failures`
    : `${paused.length} channels are paused after failures`
}
