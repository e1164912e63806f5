import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { closeSync, openSync, readFileSync, readSync, renameSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { PerformanceObserver } from 'node:perf_hooks'
import { Client } from 'pg'
import { Histogram } from 'prom-client'
import { NUMBER_HEADER } from './number-header.ts'

/**
 * Loaded into the gateway's process before its own code (`node --import`): notes where calls wait, between one
 * SIGUSR2 and the next, and writes it to the file that `BENCH_PROBE_FILE` names. It listens to Node's and undici's
 * channels of diagnostics and to the libraries of Postgres and metrics; it changes nothing in the gateway's own code.
 * Moments are microseconds of the machine's monotonic clock.
 */
export type Span = readonly [fromUs: number, toUs: number]

/** What a call did inside the gateway. */
export interface ProbedCall {
  readonly number: number
  readonly startUs: number
  endUs: number
  /** Requests to the upstream, until their last byte. */
  readonly upstream: Span[]
  /** The settlement, from its beginning until the log has it. */
  readonly log: Span[]
  /** Statements that the call sent itself. */
  readonly postgres: Span[]
}

/** A look at the event loop, and how long threads have waited for a processor since the look before. */
export interface Look {
  readonly atUs: number
  readonly ownQueuedUs: number
  readonly storeQueuedUs: number
}

export interface Statements {
  count: number
  ms: number
}

export interface Probed {
  readonly calls: readonly ProbedCall[]
  /** Statements that no call sent itself. */
  readonly shared: readonly Span[]
  /** All statements, by name or beginning. */
  readonly statements: Readonly<Record<string, Statements>>
  /** Requests to the log, by method of its protocol. */
  readonly logRequests: Readonly<Record<string, number>>
  readonly collections: readonly Span[]
  readonly looks: readonly Look[]
}

const LOOK_MS = 1
const NAME_CHARS = 60
const SETTLE_METRIC = 'tollgate_call_settle_seconds'

const nowUs = (): number => Number(process.hrtime.bigint()) / 1_000
const current = new AsyncLocalStorage<ProbedCall>()

type End = () => void
type Listener = (message: unknown) => void

function listen(channel: string, listener: Listener): End {
  subscribe(channel, listener)
  return () => void unsubscribe(channel, listener)
}

function watchCalls(calls: ProbedCall[]): readonly End[] {
  const running = new WeakMap<object, ProbedCall>()
  const asked = new WeakMap<object, { readonly call: ProbedCall; readonly fromUs: number }>()
  const requestOf = (message: unknown) => (message as { readonly request: IncomingMessage }).request
  return [
    listen('http.server.request.start', (message) => {
      const request = requestOf(message)
      const number = request.headers[NUMBER_HEADER]
      if (number === undefined) return
      const parts = { upstream: [], log: [], postgres: [] }
      const call = { number: Number(number), startUs: nowUs(), endUs: 0, ...parts }
      running.set(request, call)
      current.enterWith(call)
    }),
    listen('http.server.response.finish', (message) => {
      const call = running.get(requestOf(message))
      if (call === undefined) return
      call.endUs = nowUs()
      calls.push(call)
    }),
    listen('undici:request:create', (message) => {
      const call = current.getStore()
      if (call !== undefined) asked.set(requestOf(message), { call, fromUs: nowUs() })
    }),
    listen('undici:request:trailers', (message) => {
      const known = asked.get(requestOf(message))
      known?.call.upstream.push([known.fromUs, nowUs()])
    }),
  ]
}

/** The library has no channel: its method is replaced while calls are noted. */
function watchStatements(shared: Span[], statements: Record<string, Statements>): End {
  const prototype = Client.prototype as unknown as { query: (...args: unknown[]) => unknown }
  const { query } = prototype
  prototype.query = function (this: unknown, ...args) {
    const call = current.getStore()
    const fromUs = nowUs()
    const [asked] = args as [string | { readonly name?: string; readonly text?: string }]
    const text = typeof asked === 'string' ? asked : (asked.name ?? asked.text ?? '')
    const name = text.replaceAll(/\s+/g, ' ').slice(0, NAME_CHARS)
    const ended = (): void => {
      const toUs = nowUs()
      ;(call === undefined || call.endUs !== 0 ? shared : call.postgres).push([fromUs, toUs])
      const known = (statements[name] ??= { count: 0, ms: 0 })
      known.count += 1
      known.ms += (toUs - fromUs) / 1_000
    }
    const done = args.at(-1)
    if (typeof done === 'function') {
      args[args.length - 1] = (...answer: unknown[]) => {
        ended()
        return Reflect.apply(done, undefined, answer) as unknown
      }
      return Reflect.apply(query, this, args)
    }
    const answer = Reflect.apply(query, this, args)
    if (answer instanceof Promise) answer.then(ended, ended)
    return answer
  }
  return () => {
    prototype.query = query
  }
}

let settlementsAreNoted = false
/**
 * The gateway's own metric has the time of each settlement, observed in the course of its call. An instance keeps
 * the method that it was made with.
 */
const histogram = Histogram.prototype as unknown as {
  observeWithoutExemplar: (...args: unknown[]) => void
}
const { observeWithoutExemplar } = histogram
histogram.observeWithoutExemplar = function (this: { readonly name: string }, ...args) {
  const [seconds] = args
  if (settlementsAreNoted && this.name === SETTLE_METRIC && typeof seconds === 'number') {
    const toUs = nowUs()
    current.getStore()?.log.push([toUs - seconds * 1_000_000, toUs])
  }
  Reflect.apply(observeWithoutExemplar, this, args)
}

function watchSettlements(): End {
  settlementsAreNoted = true
  return () => {
    settlementsAreNoted = false
  }
}

function watchCollections(collections: Span[]): End {
  const observer = new PerformanceObserver((list) => {
    const originUs = nowUs() - performance.now() * 1_000
    for (const { startTime, duration } of list.getEntries()) {
      const fromUs = originUs + startTime * 1_000
      collections.push([fromUs, fromUs + duration * 1_000])
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
}

function eventStorePid(): number | undefined {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ')
  return children
    .filter(Boolean)
    .map(Number)
    .find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('eventstore'))
}

/** Reads how long the main thread of a process has waited for a processor since the last look. */
function queuedSince(pid: number): { readonly look: () => number; readonly end: End } {
  const file = openSync(`/proc/${pid}/schedstat`, 'r')
  const buffer = Buffer.alloc(128)
  const read = (): number =>
    Number(buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0)).split(' ')[1])
  let before = read()
  const look = (): number => {
    const now = read()
    const sinceUs = (now - before) / 1_000
    before = now
    return sinceUs
  }
  return { look, end: () => closeSync(file) }
}

function watchLoop(looks: Look[]): readonly End[] {
  const own = queuedSince(process.pid)
  const store = queuedSince(eventStorePid() ?? process.pid)
  const timer = setInterval(() => {
    looks.push({ ownQueuedUs: own.look(), storeQueuedUs: store.look(), atUs: nowUs() })
  }, LOOK_MS)
  return [() => clearInterval(timer), own.end, store.end]
}

function record(): () => Probed {
  const calls: ProbedCall[] = []
  const shared: Span[] = []
  const statements: Record<string, Statements> = {}
  const logRequests: Record<string, number> = {}
  const collections: Span[] = []
  const looks: Look[] = []
  const ends = [
    ...watchCalls(calls),
    watchStatements(shared, statements),
    listen('http2.client.stream.created', (message) => {
      const { headers } = message as { readonly headers: Readonly<Record<string, unknown>> }
      const method = String(headers[':path']).split('/').at(-1) ?? ''
      logRequests[method] = (logRequests[method] ?? 0) + 1
    }),
    watchSettlements(),
    watchCollections(collections),
    ...watchLoop(looks),
  ]
  return () => {
    for (const end of ends) end()
    return { calls, shared, statements, logRequests, collections, looks }
  }
}

let recording: (() => Probed) | undefined
process.on('SIGUSR2', () => {
  if (recording === undefined) {
    recording = record()
    return
  }
  const file = process.env['BENCH_PROBE_FILE'] ?? ''
  writeFileSync(`${file}.new`, JSON.stringify(recording()))
  renameSync(`${file}.new`, file)
  recording = undefined
})
