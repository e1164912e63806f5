import { Value } from 'typebox/value'
import {
  type CallOptions,
  type CancelOutcome,
  type Channel,
  type TaskGone,
  type TaskObservation,
  type TaskProvider,
} from '../../app/ports.ts'
import { ExchangeError } from '../kit/http/exchange-error.ts'
import { type Exchange, type ExchangeResponse, openExchange } from '../kit/http/exchange.ts'
import { fromExchange, malformed } from '../kit/http/failures.ts'
import { parseLossless } from '../kit/http/lossless-json.ts'
import { createScrubber, type Scrubber, vendorWords } from '../kit/http/scrub.ts'
import { countOf, observationOf } from './convert.ts'
import { fromResponse, isAccountCode, readError } from './errors.ts'
import { CreateAnswerSchema, ListAnswerSchema } from './wire.ts'

const TASKS_PATH = '/contents/generations/tasks'
/** Ids of one list: keeps the request line within what every proxy takes. */
const MAX_LIST_IDS = 100
/** Bounds of `page_size` and `page_num` on the wire. */
const MAX_LIST_SIZE = 500
const MAX_LIST_PAGES = 500
/** Queries are cheap and repeated: they get at most this, whatever a creation may take. */
export const QUERY_TIMEOUT_MS = 15_000
/** Connections kept for queries beside those for creations. */
const QUERY_CONNECTIONS = 16
const FAILED_MESSAGE = 'The model service refused the request.'

interface Line {
  readonly exchange: Exchange
  readonly basePath: string
  readonly scrub: Scrubber
}

type Wanted = Parameters<TaskProvider['list']>[1]

interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly timeoutMs: number
  readonly body?: string
}

/** The adapter of the `/provA` video family; one connection pool per channel. */
export function createVideoAProvider(): TaskProvider & { readonly close: () => Promise<void> } {
  const lines = new Map<string, Line>()

  const lineOf = (channel: Channel): Line => {
    const key = `${channel.id}\n${channel.baseUrl}`
    const known = lines.get(key)
    if (known !== undefined) return known
    const opened = openLine(channel)
    lines.set(key, opened)
    return opened
  }

  const send = async (channel: Channel, sent: Sent, options: CallOptions) => {
    const line = lineOf(channel)
    const response = await line.exchange
      .request({
        method: sent.method,
        path: `${line.basePath}${sent.path}`,
        headers: {
          authorization: `Bearer ${channel.credential}`,
          accept: 'application/json',
          'x-client-request-id': options.requestId,
          ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(sent.body === undefined ? {} : { body: sent.body }),
        timeoutMs: sent.timeoutMs,
        signal: options.signal,
      })
      .catch((error: unknown) => {
        throw error instanceof ExchangeError ? fromExchange(error) : error
      })
    return { response, scrub: line.scrub }
  }

  const query = (
    channel: Channel,
    method: 'GET' | 'DELETE',
    path: string,
    options: CallOptions,
  ): ReturnType<typeof send> =>
    send(
      channel,
      { method, path, timeoutMs: Math.min(channel.timeoutMs, QUERY_TIMEOUT_MS) },
      options,
    )

  return {
    family: 'video-a',
    maxListIds: MAX_LIST_IDS,
    maxListSize: MAX_LIST_SIZE,
    maxListPages: MAX_LIST_PAGES,

    create: async (channel, { model, body, marker }, options) => {
      const { response, scrub } = await send(
        channel,
        {
          method: 'POST',
          path: TASKS_PATH,
          body: JSON.stringify({ ...body, model, safety_identifier: marker }),
          timeoutMs: channel.timeoutMs,
        },
        options,
      )
      const answer = accepted(response, scrub)
      if (!Value.Check(CreateAnswerSchema, answer)) throw malformed()
      return { nativeId: answer.id }
    },

    get: async (channel, nativeId, options): Promise<TaskObservation | TaskGone> => {
      const path = `${TASKS_PATH}/${encodeURIComponent(nativeId)}`
      const { response, scrub } = await query(channel, 'GET', path, options)
      if (isGone(response)) return { nativeId, status: 'gone' }
      const observation = observationOf(accepted(response, scrub), scrub)
      if (observation === undefined || observation.nativeId !== nativeId) throw malformed()
      return observation
    },

    list: async (channel, wanted, options) => {
      const { response, scrub } = await query(
        channel,
        'GET',
        `${TASKS_PATH}?${listQuery(wanted).toString()}`,
        options,
      )
      const answer = accepted(response, scrub)
      if (!Value.Check(ListAnswerSchema, answer)) throw malformed()
      const items = answer.items.flatMap((item) => observationOf(item, scrub) ?? [])
      return {
        items,
        unreadable: answer.items.length - items.length,
        total: countOf(answer.total),
      }
    },

    cancel: async (channel, nativeId, options): Promise<CancelOutcome> => {
      const path = `${TASKS_PATH}/${encodeURIComponent(nativeId)}`
      const { response, scrub } = await query(channel, 'DELETE', path, options)
      if (response.statusCode >= 200 && response.statusCode < 300) return 'accepted'
      if (response.statusCode === 409) return 'running'
      if (isGone(response)) return 'gone'
      const error = fromResponse(response, scrub)
      if (error.kind === 'invalid') return 'refused'
      throw error
    },

    close: async () => {
      const open = [...lines.values()]
      lines.clear()
      await Promise.all(open.map((line) => line.exchange.close()))
    },
  }
}

function openLine(channel: Channel): Line {
  const url = new URL(channel.baseUrl)
  const upstreamModels = Object.values(channel.models)
  return {
    exchange: openExchange(url.origin, channel.maxConcurrent + QUERY_CONNECTIONS),
    basePath: url.pathname.replace(/\/+$/, ''),
    scrub: createScrubber({
      modelNames: Object.fromEntries(
        Object.entries(channel.models).map(([external, upstream]) => [upstream, external]),
      ),
      words: vendorWords(channel.baseUrl, upstreamModels, channel.redactWords),
      fallback: FAILED_MESSAGE,
    }),
  }
}

function listQuery(wanted: Wanted): URLSearchParams {
  const query = new URLSearchParams()
  if ('nativeIds' in wanted) {
    if (wanted.nativeIds.length > MAX_LIST_IDS)
      throw new RangeError(`at most ${MAX_LIST_IDS} ids a list`)
    query.set('page_num', '1')
    query.set('page_size', String(MAX_LIST_IDS))
    // The wire takes a repeated parameter, not a comma-separated one.
    for (const id of wanted.nativeIds) query.append('filter.task_ids', id)
  } else {
    query.set('page_num', String(wanted.page))
    query.set('page_size', String(wanted.pageSize))
  }
  return query
}

/** A 404 with an envelope that speaks of the task; an unknown path answers with an empty body. */
function isGone(response: ExchangeResponse): boolean {
  if (response.statusCode !== 404) return false
  const upstream = readError(response)
  return upstream !== undefined && !isAccountCode(upstream.code)
}

/** The body of a 2xx answer. @throws ProviderError for any other, or one that is not JSON. */
function accepted(response: ExchangeResponse, scrub: Scrubber): unknown {
  if (response.statusCode < 200 || response.statusCode >= 300) throw fromResponse(response, scrub)
  try {
    return parseLossless(response.text)
  } catch (error) {
    throw malformed(error)
  }
}
