/**
 * `Streams.Read`: bounded reads of a stream or of `$all`.
 */

import { streamDeleted } from './errors.ts'
import { streamNotFoundFrame } from './frames.ts'
import { firstVisible, isSoftDeleted } from './heads.ts'
import { PAGE_EVENTS } from './limits.ts'
import type { ServerLog } from './log.ts'
import type { AllRequest, ReadRequest, Start, StreamRequest } from './read-request.ts'
import { recordPosition, recordRevision } from './record.ts'
import type { Sender } from './sender.ts'

/** Sends the result of a bounded read. @throws {WireError} */
export async function serveRead(
  log: ServerLog,
  request: ReadRequest,
  sender: Sender,
): Promise<void> {
  const count = request.count ?? 0
  if (request.target === 'all') await readAll(log, request, count, sender)
  else await readStream(log, request, count, sender)
}

async function readStream(
  log: ServerLog,
  request: StreamRequest,
  count: number,
  sender: Sender,
): Promise<void> {
  const { stream, backwards } = request
  const head = await log.head(stream)
  if (head.tombstoned) throw streamDeleted(stream)
  if (head.last < 0 || isSoftDeleted(head)) {
    await sender.send([streamNotFoundFrame(stream)])
    return
  }
  const first = firstVisible(head)
  if (first === undefined) return
  let range = startRange(request.start, { first, last: head.last }, backwards)
  let left = count
  while (left > 0 && !sender.isClosed) {
    const page = await log.readStream(stream, range, left, backwards)
    const last = page.at(-1)
    if (last === undefined) return
    await sender.sendRecords(page)
    left -= page.length
    range = { ...range, from: recordRevision(last) + (backwards ? -1 : 1) }
  }
}

async function readAll(
  log: ServerLog,
  request: AllRequest,
  count: number,
  sender: Sender,
): Promise<void> {
  const { filter, backwards } = request
  let range = startRange(placeOf(request), { first: 0, last: log.lastPosition }, backwards)
  let left = count
  while (left > 0 && !sender.isClosed) {
    const limit = filter === undefined ? left : PAGE_EVENTS
    const page = await log.readAll(range, limit, backwards)
    const last = page.at(-1)
    if (last === undefined) return
    const wanted = filter === undefined ? page : page.filter(filter.matches).slice(0, left)
    await sender.sendRecords(wanted)
    left -= wanted.length
    range = { ...range, from: recordPosition(last) + (backwards ? -1 : 1) }
  }
}

/**
 * The event a read of `$all` begins with: forwards the one at the commit of its start, whatever the
 * prepare, backwards the one before it.
 */
function placeOf({ start, backwards }: AllRequest): Start<number> {
  if (start.kind !== 'at') return start
  return { kind: 'at', at: backwards ? start.at.commit - 1 : start.at.commit }
}

/** Start and end of a read. */
function startRange(
  start: Start<number>,
  bounds: { readonly first: number; readonly last: number },
  backwards: boolean,
): { from: number; to: number } {
  const beyond = bounds.last + 1
  const to = backwards ? bounds.first : bounds.last
  switch (start.kind) {
    case 'start':
      // A stream read backwards from its start returns its first event; `$all` returns none.
      return { from: backwards ? 0 : bounds.first, to }
    case 'end':
      return { from: backwards ? bounds.last : beyond, to }
    case 'at':
      return {
        from: backwards ? Math.min(start.at, beyond) : Math.max(start.at, bounds.first),
        to,
      }
  }
}
