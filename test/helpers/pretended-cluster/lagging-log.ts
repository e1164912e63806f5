/**
 * The log as a member shows it that has not received all of it yet: its reads end early.
 */

import type { ServerLog } from '../../../infra/embedded/eventstore/log.ts'
import type { Range } from '../../../infra/embedded/eventstore/reads.ts'
import { recordPosition } from '../../../infra/embedded/eventstore/record.ts'

/** The same log; `lastShown` is the last position that reads show, undefined for all. */
export function laggingLog(log: ServerLog, lastShown: () => number | undefined): ServerLog {
  const end = (): number => Math.min(log.lastPosition, lastShown() ?? Infinity)
  const shown = (records: readonly Buffer[]): Buffer[] =>
    records.filter((record) => recordPosition(record) <= end())
  const reads: Partial<ServerLog> = {
    readAll: async (range: Range, limit: number, backwards: boolean) =>
      shown(await log.readAll(clamp(range, end(), backwards), limit, backwards)),
    readStream: async (stream: string, range: Range, limit: number, backwards: boolean) =>
      shown(await log.readStream(stream, range, limit, backwards)),
  }
  return new Proxy(log, {
    get: (_, key) => {
      if (key === 'lastPosition') return end()
      if (key in reads) return reads[key as keyof ServerLog]
      const member: unknown = Reflect.get(log, key, log)
      return typeof member === 'function' ? (member.bind(log) as unknown) : member
    },
  })
}

function clamp({ from, to }: Range, end: number, backwards: boolean): Range {
  return backwards ? { from: Math.min(from, end), to } : { from, to: Math.min(to, end) }
}
