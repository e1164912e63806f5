import { Readable } from 'node:stream'
import type { CallOptions, Channel } from '../../../app/ports/provider.ts'
import type { IncomingMedia, MediaProvider } from '../../../app/ports/media.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { bearerHeaders, createConnections, type ChannelConnection } from '../http/connections.ts'
import type { ExchangeRequest, ExchangeResponse } from '../http/exchange.ts'
import { headerOf, malformed } from '../http/refusals.ts'
import { objectOf } from '../http/fields.ts'
import { passingForm } from '../http/form.ts'
import { parseLossless } from '../http/json.ts'
import { rethrow } from '../http/open-events.ts'
import { type OpenedStream, readWhole, ExchangeError } from '../http/open-stream.ts'
import { idOf, refusalIn } from './base-resp.ts'
import { owned } from '../../../platform/owned.ts'

const UPLOAD_PATH = '/v1/files/upload'
const CONTENT_PATH = '/v1/files/retrieve_content'

/** The adapter of files, for every account that speaks this wire; one connection pool per channel. */
export function createMediaProvider(): MediaProvider & { readonly close: () => Promise<void> } {
  const lines = createConnections({
    headers: bearerHeaders,
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  return {
    upload: async (channel, { purpose, filename, body }, options) => {
      const file = { name: 'file', fileName: filename, body }
      const { contentType, pieces } = passingForm([['purpose', purpose]], file)
      const sent = {
        method: 'POST',
        headers: { 'content-type': contentType },
        body: pieces,
      } as const
      const { answer } = await ask(
        lines.of(channel),
        { path: UPLOAD_PATH, ...sent },
        channel,
        options,
      )
      return { upstreamFileId: idOf(objectOf(answer['file'])['file_id']) ?? unreadable() }
    },
    open: (channel, file, options) => openFile(lines.of(channel), file, options),
    close: () => lines.close(),
  }
}

/** The content of a successful answer. */
export interface AnswerContent {
  readonly answer: JsonObject
  readonly headers: ExchangeResponse['headers']
}

/** One exchange with a successful answer. @throws ProviderError */
export async function ask(
  { exchange, basePath, headers, scrub }: ChannelConnection,
  { path, ...request }: Pick<ExchangeRequest, 'path' | 'headers' | 'body'>,
  { timeoutMs }: Channel,
  { signal, requestId }: CallOptions,
): Promise<AnswerContent> {
  const response = await exchange
    .request({
      ...request,
      method: 'POST',
      path: `${basePath}${path}`,
      headers: {
        ...headers,
        ...request.headers,
        accept: 'application/json',
        'x-client-request-id': requestId,
      },
      timeoutMs,
      signal,
    })
    .catch(rethrow)
  const answer = parsed(response.text)
  const refused = refusalIn(answer, response, scrub)
  if (refused !== undefined) throw refused
  // An answer without a status has an unknown outcome.
  if (!isJsonObject(answer) || !isJsonObject(answer['base_resp'])) return unreadable()
  return { answer, headers: response.headers }
}

/** No refusal is larger. */
const MAX_REFUSAL_BYTES = 256 * 1024

/** The bytes of a file; an answer in JSON says why there are none. @throws ProviderError */
async function openFile(
  { exchange, basePath, headers, scrub }: ChannelConnection,
  { upstreamFileId, maxBytes, ...timeouts }: Parameters<MediaProvider['open']>[1],
  { signal, requestId }: CallOptions,
): Promise<IncomingMedia> {
  const opened = await exchange
    .open({
      method: 'GET',
      path: `${basePath}${CONTENT_PATH}?file_id=${encodeURIComponent(upstreamFileId)}`,
      headers: { ...headers, 'x-client-request-id': requestId },
      ...timeouts,
      signal,
    })
    .catch(rethrow)
  const type = headerOf(opened.headers, 'content-type') ?? ''
  if (opened.statusCode !== 200 || type.startsWith('application/json')) {
    const text = await readWhole(opened, MAX_REFUSAL_BYTES).catch(rethrow)
    throw refusalIn(parsed(text), opened, scrub) ?? malformed()
  }
  const length = Number(headerOf(opened.headers, 'content-length') ?? Number.NaN)
  const sizeBytes = Number.isSafeInteger(length) ? length : undefined
  if (sizeBytes !== undefined && sizeBytes > maxBytes) {
    opened.cancel()
    return unreadable()
  }
  const body = owned(Readable.from(piecesOf(opened, maxBytes), { objectMode: false }))
  body.once('close', () => opened.cancel())
  return { sizeBytes, body }
}

async function* piecesOf(opened: OpenedStream, maxBytes: number): AsyncGenerator<Buffer, void> {
  for (let pieces = await opened.read(); pieces !== undefined; pieces = await opened.read()) {
    if (opened.receivedBytes() > maxBytes) throw new ExchangeError('too_large', true)
    yield* pieces
  }
}

/** Ids keep every digit. */
function parsed(text: string): unknown {
  try {
    return parseLossless(text)
  } catch {
    return undefined
  }
}

function unreadable(): never {
  throw malformed()
}
