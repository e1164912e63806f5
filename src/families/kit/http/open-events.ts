import type { ExchangeResponse } from './exchange.ts'
import { fromExchange, fromResponse, headerOf, isSuccess, type UpstreamError } from './refusals.ts'
import { readPlainFailure } from './error-bodies.ts'
import { parseJson } from './fields.ts'
import type { ChannelConnection } from './connections.ts'
import { type OpenedStream, readWhole, type StreamRequest, ExchangeError } from './open-stream.ts'

/** No error is larger. */
const MAX_ERROR_BYTES = 256 * 1024

/** Throws a failed exchange as a provider error; anything else unchanged. */
export function rethrow(error: unknown): never {
  throw error instanceof ExchangeError ? fromExchange(error) : error
}

/** An answer that is no result, by its own envelope. */
export function refusal(
  response: Pick<ExchangeResponse, 'statusCode' | 'headers' | 'text'>,
  readError: (body: unknown) => UpstreamError | undefined,
  line: ChannelConnection,
): Error {
  const { statusCode, text } = response
  const body = parseJson(text)
  // With a 4xx, the service itself refused the request. A 5xx without its envelope may come from a proxy.
  const isRefused = statusCode >= 400 && statusCode < 500
  const error = readError(body) ?? (isRefused ? readPlainFailure(body, text) : undefined)
  return fromResponse(response, error, line.scrub)
}

/** Opens a stream of server-sent events and makes sure that it is one. @throws ProviderError */
export async function openEvents(
  line: ChannelConnection,
  request: StreamRequest,
  readError: (body: unknown) => UpstreamError | undefined,
): Promise<OpenedStream> {
  const opened = await line.exchange.open(request).catch(rethrow)
  const type = headerOf(opened.headers, 'content-type') ?? ''
  if (isSuccess(opened.statusCode) && type.startsWith('text/event-stream')) return opened
  const text = await readWhole(opened, MAX_ERROR_BYTES).catch(rethrow)
  throw refusal({ ...opened, text }, readError, line)
}
