/**
 * `Streams.Read` as a catch-up subscription: everything after the start, then whatever is
 * committed, in log order, without gap or duplicate. Catching up and following live are the same
 * loop over the durable log; a commit only wakes it.
 */

import { randomUUID } from 'node:crypto'
import { streamDeleted } from './errors.ts'
import { caughtUpFrame, checkpointFrame, confirmationFrame } from './frames.ts'
import type { EventLog } from './log.ts'
import { PAGE_EVENTS } from './limits.ts'
import type { ReadRequest } from './read-request.ts'
import { recordPosition, recordRevision } from './record.ts'
import type { Sender } from './sender.ts'

/** Serves a subscription until the reader leaves or the sender is closed. @throws {WireError} */
export async function serveSubscription(
  log: EventLog,
  request: ReadRequest,
  sender: Sender,
): Promise<void> {
  const source =
    request.stream === undefined
      ? allSource(log, request, sender)
      : await streamSource(log, request, request.stream, sender)
  let isLive = false
  let committed = true
  const stopListening = log.onCommit(() => {
    committed = true
    if (isLive) sender.wake()
  })
  try {
    await sender.send([confirmationFrame(randomUUID())])
    while (!sender.isClosed) {
      committed = false
      const frames = await source.next()
      if (frames !== undefined) {
        await sender.send(frames)
        continue
      }
      if (!isLive) {
        isLive = true
        await sender.send([...source.onLive(), caughtUpFrame()])
      }
      if (!committed && !sender.isClosed) await sender.wait()
    }
  } finally {
    stopListening()
  }
}

interface Source {
  /** Frames of the next page, possibly none; undefined when there is nothing new. */
  readonly next: () => Promise<readonly Buffer[] | undefined>
  /** Frames to send once, on having caught up. */
  readonly onLive: () => readonly Buffer[]
}

function allSource(log: EventLog, request: ReadRequest, sender: Sender): Source {
  const { filter, start } = request
  let after = start.kind === 'end' ? log.lastPosition : start.kind === 'at' ? start.number : 0
  let considered = 0
  const next = async (): Promise<readonly Buffer[] | undefined> => {
    if (log.lastPosition <= after) return undefined
    const range = { from: after + 1, to: Number.MAX_SAFE_INTEGER }
    const page = await log.readAll(range, PAGE_EVENTS, false)
    const last = page.at(-1)
    if (last === undefined) return undefined
    after = recordPosition(last)
    if (filter === undefined) return page.map((record) => sender.frameOf(record))
    const frames: Buffer[] = []
    for (const record of page) {
      if (filter.matches(record)) frames.push(sender.frameOf(record))
      considered += 1
      if (considered < filter.checkpointEvery) continue
      considered = 0
      frames.push(checkpointFrame(recordPosition(record)))
    }
    return frames
  }
  const onLive = (): readonly Buffer[] => (filter === undefined ? [] : [checkpointFrame(after)])
  return { next, onLive }
}

async function streamSource(
  log: EventLog,
  request: ReadRequest,
  stream: string,
  sender: Sender,
): Promise<Source> {
  const { start } = request
  let after = -1
  if (start.kind === 'end') after = (await log.head(stream)).last
  if (start.kind === 'at') after = start.number
  const next = async (): Promise<readonly Buffer[] | undefined> => {
    const head = await log.head(stream)
    if (head.tombstoned) throw streamDeleted(stream)
    const from = Math.max(after + 1, head.truncateBefore)
    if (head.last < from) return undefined
    const range = { from, to: head.last }
    const page = await log.readStream(stream, range, PAGE_EVENTS, false)
    const last = page.at(-1)
    if (last === undefined) return undefined
    after = recordRevision(last)
    return page.map((record) => sender.frameOf(record))
  }
  return { next, onLive: () => [] }
}
