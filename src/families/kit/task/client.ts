import { ExchangeError } from '../http/open-stream.ts'
import {
  type CallOptions,
  type CancelOutcome,
  type Channel,
  ProviderError,
  type TaskObservation,
  type TaskProvider,
} from '../../../app/ports/provider.ts'
import type { ExchangeRequest, ExchangeResponse } from '../http/exchange.ts'
import { parseJson, upstreamIdOf } from '../http/fields.ts'
import { fromExchange, isSuccess, malformed } from '../http/refusals.ts'
import { createConnections } from '../http/connections.ts'
import { type Scrubber } from '../http/scrubber.ts'
import { parseLossless, sentInTurns, sentJson } from '../http/json.ts'
import { fromTaskResponse, type TaskWire } from './wire.ts'

/** The timeout of queries, which are cheap and repeated, independent of that of creations. */
const QUERY_TIMEOUT_MS = 15_000
/** Connections reserved for queries, in addition to those for creations. */
const QUERY_CONNECTIONS = 16

/** The parts that differ from request to request. */
type Sent = Pick<ExchangeRequest, 'method' | 'path' | 'timeoutMs'> &
  Partial<ReturnType<typeof sentJson>>

interface Answered {
  readonly response: ExchangeResponse
  readonly scrub: Scrubber
}

/** Asks the accounts of a family. */
interface Asking {
  readonly create: (channel: Channel, sent: Sent, options: CallOptions) => Promise<Answered>
  /** Within the time of a query. */
  readonly query: (
    channel: Channel,
    sent: Omit<Sent, 'timeoutMs'>,
    options: CallOptions,
  ) => Promise<Answered>
  readonly close: () => Promise<void>
}

function createAsking(wire: TaskWire): Asking {
  const lines = createConnections({
    headers: wire.credentialHeaders,
    connections: (channel) => channel.maxConcurrent + QUERY_CONNECTIONS,
  })
  const send = async (channel: Channel, sent: Sent, options: CallOptions): Promise<Answered> => {
    const { exchange, basePath, headers, scrub } = lines.of(channel)
    const answered = await exchange
      .request({
        ...sent,
        path: `${basePath}${sent.path}`,
        headers: {
          ...headers,
          accept: 'application/json',
          'x-client-request-id': options.requestId,
          ...sent.headers,
        },
        signal: options.signal,
      })
      .catch((error: unknown) => {
        throw error instanceof ExchangeError ? fromExchange(error) : error
      })
    const asked = sent.body === undefined ? 'query' : 'creation'
    return { response: standingFor(wire, answered, asked), scrub }
  }
  return {
    create: send,
    query: (channel, sent, options) =>
      send(channel, { ...sent, timeoutMs: Math.min(channel.timeoutMs, QUERY_TIMEOUT_MS) }, options),
    close: () => lines.close(),
  }
}

/** The adapter of an asynchronous family; one connection pool per channel. */
export function createTaskProvider(
  wire: TaskWire,
): TaskProvider & { readonly close: () => Promise<void> } {
  const asking = createAsking(wire)
  const read = (channel: Channel, path: string, options: CallOptions): Promise<Answered> =>
    asking.query(channel, { method: 'GET', path }, options)
  return {
    family: wire.family,
    maxListIds: wire.maxListIds,
    maxListSize: wire.maxListSize,
    maxListPages: wire.maxListPages,
    showsMarkers: wire.showsMarkers,

    create: async (channel, submission, options) => {
      const { timeoutMs } = channel
      const creation = { method: 'POST', path: wire.createPath(submission), timeoutMs } as const
      const sent = { ...creation, ...(await sentInTurns(wire.createBody(submission))) }
      const answered = await asking.create(channel, sent, options)
      const body = accepted(wire, answered)
      const nativeId = upstreamIdOf(wire.readCreated(body))
      if (nativeId === undefined) throw unreadable(wire, answered)
      const usage = wire.readUsage?.(body)
      return usage === undefined ? { nativeId } : { nativeId, usage }
    },

    get: async (channel, nativeId, options) => {
      const answered = await read(channel, wire.taskPath(nativeId), options)
      if (isGone(wire, answered.response)) return { nativeId, status: 'gone' }
      const observation = wire.readTask(accepted(wire, answered), answered.scrub, nativeId)
      if (observation === undefined || observation.nativeId !== nativeId)
        throw unreadable(wire, answered)
      const linksPath = wire.linksPath?.(observation)
      if (linksPath === undefined) return observation
      const urls = await linksIn(wire, read(channel, linksPath, options))
      return urls === undefined ? observation : { ...observation, urls }
    },

    list: async (channel, wanted, options) => {
      if ('nativeIds' in wanted && wanted.nativeIds.length > wire.maxListIds)
        throw new RangeError(`at most ${wire.maxListIds} ids a list`)
      return listed(wire, await read(channel, wire.listPath(wanted), options))
    },

    cancel: async (channel, nativeId, options) =>
      cancelled(wire, await asking.query(channel, cancelRequestOf(wire, nativeId), options)),

    close: asking.close,
  }
}

/** Links that upstream refuses now are fetched when a caller asks for them: the task has ended. */
async function linksIn(
  wire: TaskWire,
  answer: Promise<Answered>,
): Promise<TaskObservation['urls']> {
  try {
    return wire.readLinks?.(accepted(wire, await answer))
  } catch (error) {
    if (error instanceof ProviderError) return undefined
    throw error
  }
}

function listed(wire: TaskWire, answered: Answered): Awaited<ReturnType<TaskProvider['list']>> {
  const list = wire.readList(accepted(wire, answered))
  if (list === undefined) throw unreadable(wire, answered)
  const items = list.items.flatMap((item) => {
    const seen = wire.readTask(item, answered.scrub)
    return upstreamIdOf(seen?.nativeId) === undefined ? [] : (seen ?? [])
  })
  return { items, unreadable: list.items.length - items.length, total: list.total }
}

/** @throws ProviderError */
function cancelled(wire: TaskWire, { response, scrub }: Answered): CancelOutcome {
  if (isSuccess(response.statusCode)) return 'accepted'
  if (response.statusCode === 409) return 'running'
  if (isGone(wire, response)) return 'gone'
  const error = fromTaskResponse(response, errorIn(wire, response), scrub)
  if (error.kind === 'invalid') return 'refused'
  throw error
}

function cancelRequestOf(wire: TaskWire, nativeId: string): Omit<Sent, 'timeoutMs'> {
  if (wire.cancelRequest === undefined) return { method: 'DELETE', path: wire.taskPath(nativeId) }
  const { body, ...request } = wire.cancelRequest(nativeId)
  return body === undefined ? request : { ...request, ...sentJson(body) }
}

/** An answer with the HTTP status that its body means. */
function standingFor(
  { statusOf }: TaskWire,
  response: ExchangeResponse,
  asked: 'creation' | 'query',
): ExchangeResponse {
  if (statusOf === undefined || !isSuccess(response.statusCode)) return response
  const statusCode = statusOf(parseJson(response.text), asked)
  if (statusCode === undefined) return response
  const { headers, pieces, text } = response
  return { statusCode, headers, pieces, text }
}

function errorIn(wire: TaskWire, response: ExchangeResponse): ReturnType<TaskWire['readError']> {
  try {
    return wire.readError(parseLossless(response.text))
  } catch {
    return undefined
  }
}

/**
 * The envelope says so, or the answer is a 404 with an envelope about the task; an unknown path
 * answers with an empty body.
 */
function isGone(wire: TaskWire, response: ExchangeResponse): boolean {
  const { statusCode } = response
  if (statusCode < 400 || statusCode >= 500) return false
  const error = errorIn(wire, response)
  return error?.missing === true || (statusCode === 404 && error?.account === false)
}

/** A 2xx answer that is not what was asked for: a refusal, if it has an error that says its status. */
function unreadable(wire: TaskWire, { response, scrub }: Answered): ProviderError {
  const error = errorIn(wire, response)
  const statusCode = error?.account === true ? 403 : error?.status
  if (statusCode === undefined) return malformed()
  return fromTaskResponse({ statusCode, headers: response.headers }, error, scrub)
}

/** The body of a 2xx answer. @throws ProviderError for any other, or one that is not JSON. */
function accepted(wire: TaskWire, { response, scrub }: Answered): unknown {
  if (!isSuccess(response.statusCode))
    throw fromTaskResponse(response, errorIn(wire, response), scrub)
  try {
    return parseLossless(response.text)
  } catch (error) {
    throw malformed(error)
  }
}
