/**
 * `Streams.Read`: bounded reads of a stream or of `$all`.
 */

import { streamDeleted } from './errors.ts'
import { streamNotFoundFrame } from './frames.ts'
import { firstVisible, isSoftDeleted } from './heads.ts'
import { PAGE_EVENTS } from './limits.ts'
import type { EventLog } from './log.ts'
import type { ReadRequest } from './read-request.ts'
import { recordPosition, recordRevision } from './record.ts'
import type { Sender } from './sender.ts'

/** Sends what a bounded read asks for. @throws {WireError} */
export async function serveRead(
  log: EventLog,
  request: ReadRequest,
  sender: Sender,
): Promise<void> {
  const count = request.count ?? 0
  if (request.stream === undefined) await readAll(log, request, count, sender)
  else await readStream(log, request, request.stream, count, sender)
}

async function readStream(
  log: EventLog,
  request: ReadRequest,
  stream: string,
  count: number,
  sender: Sender,
): Promise<void> {
  const head = await log.head(stream)
  if (head.tombstoned) throw streamDeleted(stream)
  if (head.last < 0 || isSoftDeleted(head)) {
    await sender.send([streamNotFoundFrame(stream)])
    return
  }
  const first = firstVisible(head)
  if (first === undefined) return
  const bounds = { first, last: head.last }
  let range = startRange(request, bounds, bounds.last + 1)
  let left = count
  while (left > 0 && !sender.isClosed) {
    const page = await log.readStream(stream, range, left, request.backwards)
    const last = page.at(-1)
    if (last === undefined) return
    await sender.sendRecords(page)
    left -= page.length
    range = { ...range, from: recordRevision(last) + (request.backwards ? -1 : 1) }
  }
}

async function readAll(
  log: EventLog,
  request: ReadRequest,
  count: number,
  sender: Sender,
): Promise<void> {
  const bounds = { first: 0, last: log.lastPosition }
  let range = startRange(request, bounds, bounds.last + 1)
  // Backwards a position is exclusive, forwards it is inclusive, as in EventStoreDB.
  if (request.backwards && request.start.kind !== 'end') range = { ...range, from: range.from - 1 }
  const { filter } = request
  let left = count
  while (left > 0 && !sender.isClosed) {
    const limit = filter === undefined ? left : PAGE_EVENTS
    const page = await log.readAll(range, limit, request.backwards)
    const last = page.at(-1)
    if (last === undefined) return
    const wanted = filter === undefined ? page : page.filter(filter.matches).slice(0, left)
    await sender.sendRecords(wanted)
    left -= wanted.length
    range = { ...range, from: recordPosition(last) + (request.backwards ? -1 : 1) }
  }
}

/** Where reading begins and ends; `beyond` is the first number past the end. */
function startRange(
  request: ReadRequest,
  bounds: { readonly first: number; readonly last: number },
  beyond: number,
): { from: number; to: number } {
  const { start, backwards } = request
  const to = backwards ? bounds.first : bounds.last
  switch (start.kind) {
    case 'start':
      // A stream read backwards from its start shows its first event; `$all` shows nothing.
      return { from: backwards ? 0 : bounds.first, to }
    case 'end':
      return { from: backwards ? bounds.last : beyond, to }
    case 'at':
      return {
        from: backwards ? Math.min(start.number, beyond) : Math.max(start.number, bounds.first),
        to,
      }
  }
}
