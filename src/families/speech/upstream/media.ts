import { Readable } from 'node:stream'
import type { CallOptions, Channel } from '../../../app/ports.ts'
import type {
  CloneAnswer,
  CloneOrder,
  IncomingMedia,
  MediaProvider,
} from '../../../app/media-ports.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { bearerHeaders } from '../../kit/http/credential.ts'
import { ExchangeError } from '../../kit/http/exchange-error.ts'
import type { ExchangeRequest, ExchangeResponse } from '../../kit/http/exchange.ts'
import { malformed } from '../../kit/http/failures.ts'
import { losslessCount, objectOf, textOf, upstreamIdOf } from '../../kit/http/fields.ts'
import { passingForm } from '../../kit/http/form.ts'
import { restOf } from '../../kit/http/limit-headers.ts'
import { createLines, type Line } from '../../kit/http/lines.ts'
import { parseLossless } from '../../kit/http/lossless-json.ts'
import { rethrow } from '../../kit/http/open-events.ts'
import { type OpenedStream, readWhole } from '../../kit/http/open-stream.ts'
import { headerOf } from '../../kit/http/retry-after.ts'
import { idOf, refusalIn } from './errors.ts'

const UPLOAD_PATH = '/v1/files/upload'
const CONTENT_PATH = '/v1/files/retrieve_content'
const CLONE_PATH = '/v1/voice_clone'
const JSON_TYPE = { 'content-type': 'application/json' }

/** The adapter of files and voices, for every account that speaks this wire; one connection pool per channel. */
export function createMediaProvider(): MediaProvider & { readonly close: () => Promise<void> } {
  const lines = createLines({
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
      const { told } = await ask(
        lines.of(channel),
        { path: UPLOAD_PATH, ...sent },
        channel,
        options,
      )
      return { upstreamFileId: idOf(objectOf(told['file'])['file_id']) ?? unreadable() }
    },
    open: (channel, file, options) => openFile(lines.of(channel), file, options),
    clone: async (channel, order, options) => {
      const sent = { headers: JSON_TYPE, body: cloneBody(order) }
      const line = lines.of(channel)
      const answer = await ask(line, { path: CLONE_PATH, ...sent }, channel, options)
      return cloneOf(answer)
    },
    close: () => lines.close(),
  }
}

interface Told {
  readonly told: JsonObject
  readonly headers: ExchangeResponse['headers']
}

/** One exchange whose answer says that it went well. @throws ProviderError */
async function ask(
  { exchange, basePath, headers, scrub }: Line,
  { path, ...request }: Pick<ExchangeRequest, 'path' | 'headers' | 'body'>,
  { timeoutMs }: Channel,
  { signal, requestId }: CallOptions,
): Promise<Told> {
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
  const told = parsed(response.text)
  const refused = refusalIn(told, response, scrub)
  if (refused !== undefined) throw refused
  // What does not say that it went well may have gone any way.
  if (!isJsonObject(told) || !isJsonObject(told['base_resp'])) return unreadable()
  return { told, headers: response.headers }
}

/** No refusal is larger. */
const MAX_REFUSAL_BYTES = 256 * 1024

/** The bytes of a file; what is JSON says why there are none. @throws ProviderError */
async function openFile(
  { exchange, basePath, headers, scrub }: Line,
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
  const body = Readable.from(piecesOf(opened, maxBytes), { objectMode: false })
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

/** JSON whose ids are integers of 64 bits, which only text can hold. */
function cloneBody(order: CloneOrder): string {
  const { audition, promptUpstreamFileId, promptText } = order
  const hasPrompt = promptUpstreamFileId !== undefined || promptText !== undefined
  const prompt = `{${[
    ...(promptUpstreamFileId === undefined ? [] : [`"prompt_audio":${promptUpstreamFileId}`]),
    ...(promptText === undefined ? [] : [`"prompt_text":${JSON.stringify(promptText)}`]),
  ].join(',')}}`
  const rest = JSON.stringify({
    voice_id: order.upstreamVoiceId,
    ...(audition && { text: audition.text, model: audition.upstreamModel }),
    ...order.settings,
  })
  const ids = `"file_id":${order.upstreamFileId},${hasPrompt ? `"clone_prompt":${prompt},` : ''}`
  return `{${ids}${rest.slice(1)}`
}

function cloneOf({ told, headers }: Told): CloneAnswer {
  return {
    upstreamRequestId: headerOf(headers, 'trace-id') ?? upstreamIdOf(told['trace_id']),
    restMs: restOf(headers),
    characters: losslessCount(objectOf(told['extra_info'])['usage_characters']),
    demoAudio: textOf(told['demo_audio']),
    inputSensitive: sensitivityOf(told),
  }
}

/** Upstream's word for why is a number in an object, or beside a yes or no as it was once written. */
function sensitivityOf(told: JsonObject): number | undefined {
  const said = told['input_sensitive']
  const type = isJsonObject(said) ? said['type'] : told['input_sensitive_type']
  const reason = losslessCount(type) ?? 0
  if (reason !== 0) return reason
  return said === true ? OTHER_REASON : undefined
}

const OTHER_REASON = 7
