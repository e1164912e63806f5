/**
 * `Streams.Read` as a catch-up subscription: all events after the start, then newly committed ones,
 * in log order, without gap or duplicate. Both are read from the durable log; an announcement only
 * wakes the follower. A reader that falls behind while live catches up again, or is ended, as its
 * server's generation has it.
 */

import { randomUUID } from 'node:crypto'
import { allSource } from './all-source.ts'
import { consumerTooSlow } from './errors.ts'
import { caughtUpFrame, confirmationFrame } from './frames.ts'
import { MAX_LIVE_MESSAGES } from './limits.ts'
import type { ServerLog } from './log.ts'
import type { ReadRequest } from './read-request.ts'
import type { Sender } from './sender.ts'
import type { Source } from './source.ts'
import { streamSource } from './stream-source.ts'
import type { Behaviour } from './versions.ts'

/** Commits that were announced since the follower last looked. */
interface Commits {
  unseen: boolean
}

/** Serves a subscription until the reader leaves or the sender is closed. @throws {WireError} */
export async function serveSubscription(
  log: ServerLog,
  request: ReadRequest,
  sender: Sender,
  behaviour: Behaviour,
): Promise<void> {
  const source =
    request.target === 'all'
      ? allSource(log, request, sender, behaviour)
      : await streamSource(log, request, sender, behaviour)
  const commits: Commits = { unseen: true }
  const stopListening = log.onCommits(() => {
    commits.unseen = true
    sender.wake()
  })
  try {
    await sender.send([confirmationFrame(randomUUID())])
    let caughtUp = source.isAtEnd
    while (!sender.isClosed) {
      if (!caughtUp) {
        await catchUp(source, sender, commits)
        await sender.send(source.goLive())
      }
      await sender.send([caughtUpFrame()])
      await followLive(source, sender, behaviour, commits)
      await sender.send(source.fallBehind())
      caughtUp = false
    }
  } finally {
    stopListening()
  }
}

async function catchUp(source: Source, sender: Sender, commits: Commits): Promise<void> {
  while (!sender.isClosed) {
    commits.unseen = false
    const page = await source.catchUp()
    if (page === 'end') return
    if (page !== 'missing') await sender.send(page)
    else if (!commits.unseen && !sender.isClosed) await sender.wait()
  }
}

/** Follows until the reader is gone or has fallen behind. */
async function followLive(
  source: Source,
  sender: Sender,
  behaviour: Behaviour,
  commits: Commits,
): Promise<void> {
  const catchesUp = behaviour.onLiveOverflow === 'catches_up'
  const waiting: Buffer[] = []
  let isAtEnd = false
  while (!sender.isClosed) {
    if (!isAtEnd || commits.unseen) {
      commits.unseen = false
      const messages = await source.follow()
      if (messages !== undefined) waiting.push(...messages)
      isAtEnd = messages === undefined
    }
    const overflows = waiting.length > MAX_LIVE_MESSAGES
    if (overflows && catchesUp) return
    // A burst alone does not end a reader that keeps reading.
    if (overflows && !sender.isReady) throw consumerTooSlow()
    if (sender.isReady) {
      sender.post(waiting.splice(0))
      source.markSent()
    }
    if (isAtEnd && !commits.unseen && !sender.isClosed) await sender.wait()
  }
}
