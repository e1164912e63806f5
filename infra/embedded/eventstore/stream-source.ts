/** Events of one stream for a subscription. */

import { streamDeleted } from './errors.ts'
import { PAGE_EVENTS } from './limits.ts'
import type { ServerLog } from './log.ts'
import type { StreamRequest } from './read-request.ts'
import { recordRevision } from './record.ts'
import type { Sender } from './sender.ts'
import type { Source } from './source.ts'
import type { Behaviour } from './versions.ts'

/** A subscription to a stream from the start its request names. */
export async function streamSource(
  log: ServerLog,
  request: StreamRequest,
  sender: Sender,
  behaviour: Behaviour,
): Promise<Source> {
  const { stream, start } = request
  const isAtEnd = start.kind === 'end'
  let sent = isAtEnd ? (await log.head(stream)).last : start.kind === 'at' ? start.at : -1
  let followed = sent
  /** The next page behind a revision: its frames and its last revision. */
  const pageBehind = async (revision: number) => {
    const head = await log.head(stream)
    if (head.tombstoned) throw streamDeleted(stream)
    if (head.last < 0 && !behaviour.followsMissingStream) return 'missing'
    const range = { from: Math.max(revision + 1, head.truncateBefore), to: head.last }
    if (head.last < range.from) return 'end'
    const page = await log.readStream(stream, range, PAGE_EVENTS, false)
    const last = page.at(-1)
    if (last === undefined) return 'end'
    return { frames: page.map((record) => sender.frameOf(record)), last: recordRevision(last) }
  }
  return {
    isAtEnd,
    catchUp: async () => {
      const page = await pageBehind(sent)
      if (typeof page === 'string') return page
      sent = page.last
      followed = sent
      return page.frames
    },
    goLive: () => [],
    follow: async () => {
      const page = await pageBehind(followed)
      if (typeof page === 'string') return undefined
      followed = page.last
      return page.frames
    },
    markSent: () => {
      sent = followed
    },
    fallBehind: () => {
      followed = sent
      return []
    },
  }
}
