import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { owned } from '../../../platform/owned.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import type { TimeZone } from '../../../kernel/time-zone.ts'

/** Answers that are files: named for what is in them, streamed, and never cut off unseen. */

/** The name of a file is made of these facts about its rows. */
export interface FileFacts {
  /** The kind of rows, such as `ledger-lines`. */
  readonly name: string
  /** The tenant whose rows they are; undefined: of all. */
  readonly tenantId: string | undefined
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  /** The zone of the days in the name. */
  readonly zone: TimeZone
  /** Position of the log that the rows are as of; undefined where they have none. */
  readonly asOf: string | undefined
}

/** A bound as the name of a file may have it: a day where it begins one, else the second in UTC. */
function boundText(unixMs: number, zone: TimeZone): string {
  const day = zone.dayAt(unixMs)
  if (zone.startOf(day) === unixMs) return day
  return toTimestamp(unixMs).replaceAll(/[-:]|\.\d+/g, '')
}

function rangeText({ fromMs, toMs, zone }: FileFacts): readonly string[] {
  const [from, to] = [fromMs, toMs].map((ms) =>
    ms === undefined ? undefined : boundText(ms, zone),
  )
  if (from === undefined) return to === undefined ? [] : [`until-${to}`]
  return to === undefined ? [`since-${from}`] : [from, to]
}

/** A text as the name of a file may have it: nothing in it needs a quote or an escape. */
export const inFileName = (text: string): string => text.replaceAll(/[^\w.-]/g, '-')

/** `ledger-lines_acme_2026-11-01_2026-12-01_at-63.csv`. */
export function fileName(facts: FileFacts, extension: string): string {
  const { name, tenantId, asOf } = facts
  const tenant = tenantId === undefined ? 'all-tenants' : inFileName(tenantId)
  const position = asOf === undefined ? [] : [`at-${asOf}`]
  return `${[name, tenant, ...rangeText(facts), ...position].join('_')}.${extension}`
}

interface SentFile {
  readonly name: string
  readonly type: string
  /** Position of the log that all of it is as of. */
  readonly asOf: string | undefined
  /** The size of a file that is whole already. */
  readonly sizeBytes?: number | undefined
  /** The text or the bytes of the file, in at least one piece. */
  readonly pieces: AsyncIterable<Piece>
}

type Piece = string | Uint8Array

async function* continued(
  first: IteratorResult<Piece>,
  rest: AsyncIterator<Piece>,
): AsyncGenerator<Piece> {
  for (let piece = first; piece.done !== true; piece = await rest.next()) yield piece.value
}

/**
 * Sends a file; the next piece is made only when the last one was taken. A failure before the first piece is an
 * answer like any other. After it the connection is reset: an answer in pieces then lacks its end, and one that ends
 * with its connection, to a client of HTTP/1.0, is seen to have failed too.
 */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, type, asOf, sizeBytes, pieces }: SentFile,
): Promise<FastifyReply> {
  const rest = pieces[Symbol.asyncIterator]()
  const first = await rest.next()
  const body = owned(Readable.from(continued(first, rest), { objectMode: true, highWaterMark: 1 }))
  body.on('error', () => {
    request.raw.socket.resetAndDestroy()
  })
  // A body that is never read, as of an answer to HEAD, does not begin its generator.
  body.on('close', () => void rest.return?.().catch(() => undefined))
  if (sizeBytes !== undefined) void reply.header('content-length', sizeBytes)
  if (asOf !== undefined) void reply.header('x-as-of', asOf)
  return reply.header('content-disposition', `attachment; filename="${name}"`).type(type).send(body)
}
