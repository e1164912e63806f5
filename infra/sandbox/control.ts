import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { toTimestamp } from '../../src/kernel/clock.ts'
import { callView } from './calls/store.ts'
import type { FaultRule } from './faults/board.ts'
import { UnknownSwitch } from './faults/vocabulary.ts'
import { idInPath, queryOf } from './http/wire.ts'
import { type Fields, isFields } from './kit/body.ts'
import { ending, isTerminal } from './tasks/record.ts'
import type { StoredTask, TaskStore } from './tasks/store.ts'
import type { CallbackCounts } from './callbacks.ts'
import type { FamilyKit } from './family.ts'

/** An accepted task as `GET /__sandbox/accepted` lists it: what a test compares a ledger with. */
export type AcceptedTask = Readonly<ReturnType<typeof acceptedView>>

/** An accepted task as of a moment. */
function acceptedView(
  store: TaskStore,
  task: StoredTask,
  nowMs: number,
  callbacks: CallbackCounts,
) {
  const { record, marks } = task
  const state = store.stateOf(task, nowMs)
  const cancelled = marks.cancelledAtMs !== null
  const end = ending(record)
  const outcome = cancelled ? 'cancelled' : (end?.phase ?? 'never')
  const endsAtMs = cancelled ? marks.cancelledAtMs : (end?.atMs ?? null)
  const success = outcome === 'succeeded'
  return {
    seq: record.seq,
    id: record.id,
    family: record.family,
    model: record.model,
    requested_model: record.requestedModel,
    safety_identifier: record.safetyIdentifier,
    client_marker: record.clientMarker,
    /** The account that made it: the start of the credential's hash. */
    credential: record.credential,
    accepted_at: toTimestamp(record.acceptedAtMs),
    /** What a query would report now; for a deleted task, at its deletion. */
    status: state.strange ?? state.phase,
    /** Whether that is an end. */
    finished: isTerminal(state.phase),
    /** The phase in which it ends, now or later, or `never`. */
    outcome,
    ends_at: endsAtMs === null ? null : toTimestamp(endsAtMs),
    /** `outcome` is `succeeded`. */
    success,
    fail_code: outcome === 'failed' ? record.plan.failCode : null,
    /** Reported with the success; null when it reports none. */
    usage: success ? record.usage : null,
    /** Reported by later queries instead; null when the same. */
    usage_later: success ? record.usageLater : null,
    cancelled,
    deleted: marks.deletedAtMs !== null,
    /** Queries do not find it, although no request deleted it. */
    gone: !state.visible && marks.deletedAtMs === null,
    /** Queries that found it, since this process started. */
    queried: task.queried,
    /** Whether a query has shown the success. */
    success_reported: marks.successReportedAtMs !== null,
    callbacks,
  }
}

/** Items of one page at most. */
const MAX_PAGE = 10_000

/** The frame itself. */
export interface SandboxKit extends FamilyKit {
  /** Runs what families registered with `onReset`. */
  readonly forget: () => void
}

/** A page that is asked for: what comes after a sequence number, so many items of it. */
interface PageAsked {
  readonly after: number
  readonly limit: number
}

/** The page that a query asks for. @throws RangeError */
export function pageIn(query: URLSearchParams): PageAsked {
  return {
    after: numberIn(query, 'after', 0, Number.MAX_SAFE_INTEGER),
    limit: Math.max(1, numberIn(query, 'limit', 1000, MAX_PAGE)),
  }
}

/** One page, oldest first, rendered by `show`; pass `next_after` as `after`, null on the last page. */
export function pageOf<Kept, Shown>(
  all: readonly Kept[],
  { after, limit }: PageAsked,
  seqOf: (kept: Kept) => number,
  show: (kept: Kept) => Shown,
) {
  const rest = all.filter((kept) => seqOf(kept) > after)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  const nextAfter = last !== undefined && rest.length > page.length ? seqOf(last) : null
  return { items: page.map(show), next_after: nextAfter, total: all.length }
}

/** What narrows the tasks that were accepted; absent or null members match everything. */
export type AcceptedFilter = {
  readonly [Name in 'family' | 'client_marker' | 'safety_identifier']?: string | null
}

/** One page of the tasks that were accepted. */
export function acceptedPage(
  kit: FamilyKit,
  asked: PageAsked,
  { family, client_marker, safety_identifier }: AcceptedFilter = {},
) {
  const nowMs = kit.clock.nowMs()
  const all = kit.store
    .all()
    .filter(
      ({ record }) =>
        (family ?? record.family) === record.family &&
        (client_marker ?? record.clientMarker) === record.clientMarker &&
        (safety_identifier ?? record.safetyIdentifier) === record.safetyIdentifier,
    )
  const seqOf = ({ record }: StoredTask): number => record.seq
  return pageOf(all, asked, seqOf, (task) =>
    acceptedView(kit.store, task, nowMs, kit.callbacks.countsOf(task.record.id)),
  )
}

/** One page of accepted calls; `total` are all that are kept, `forgotten` those that were dropped, the oldest. */
function callPage(kit: FamilyKit, query: URLSearchParams): object {
  const { after, limit } = pageIn(query)
  const found = kit.calls.list(after, limit + 1, {
    family: query.get('family'),
    client_marker: query.get('client_marker'),
    model: query.get('model'),
  })
  const page = pageOf(found, { after, limit }, ({ seq }) => seq, callView)
  return { ...page, total: kit.calls.size, forgotten: kit.calls.forgotten }
}

/** Forgets tasks, calls, libraries, callbacks, fault rules, counters and the request log. */
export async function resetAll(kit: SandboxKit): Promise<void> {
  kit.forget()
  kit.board.clear()
  kit.calls.reset()
  kit.callbacks.reset()
  kit.counters.reset()
  kit.requests.reset()
  await kit.assets.reset()
  await kit.store.reset()
}

/** Moves the sandbox's clock forward. @throws RangeError */
export function advanceClock(kit: FamilyKit, byMs: number): void {
  kit.clock.advance(byMs)
  kit.callbacks.clockMoved()
}

function bodyOf(request: FastifyRequest): Fields {
  const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : ''
  const value: unknown = text === '' ? {} : JSON.parse(text)
  if (!isFields(value)) throw new RangeError('the body must be a JSON object')
  return value
}

/** @throws RangeError when a member has the wrong type. */
function ruleOf(body: Fields): FaultRule {
  const { faults, rate, match, once, seed } = body
  const known = new Set(['faults', 'rate', 'match', 'once', 'seed'])
  const stray = Object.keys(body).find((name) => !known.has(name))
  if (stray !== undefined) throw new RangeError(`unknown member ${stray}`)
  if (!Array.isArray(faults) || !faults.every((word) => typeof word === 'string')) {
    throw new RangeError('faults must be an array of strings')
  }
  if (rate !== undefined && typeof rate !== 'number') throw new RangeError('rate must be a number')
  if (seed !== undefined && typeof seed !== 'number') throw new RangeError('seed must be a number')
  if (once !== undefined && typeof once !== 'number' && typeof once !== 'boolean') {
    throw new RangeError('once must be true or a number')
  }
  return { faults, rate, once, seed, match: matchOf(match) }
}

const MATCH_MEMBERS = ['family', 'op', 'model', 'id', 'client_marker', 'safety_identifier']

function matchOf(match: unknown): FaultRule['match'] {
  if (match === undefined || match === null) return undefined
  if (typeof match !== 'object') throw new RangeError('match must be an object')
  for (const [name, value] of Object.entries(match)) {
    const isList = Array.isArray(value) && value.every((one) => typeof one === 'string')
    if (!MATCH_MEMBERS.includes(name)) throw new RangeError(`unknown match member ${name}`)
    if (typeof value !== 'string' && !(name === 'op' && isList)) {
      throw new RangeError(`match.${name} must be a string`)
    }
  }
  return match
}

/** A whole number of a query. @throws RangeError */
function numberIn(query: URLSearchParams, name: string, absent: number, max: number): number {
  const text = query.get(name)
  if (text === null) return absent
  if (!/^\d{1,15}$/.test(text)) throw new RangeError(`${name} must be a whole number`)
  return Math.min(Number(text), max)
}

type Control = (request: FastifyRequest, query: URLSearchParams) => object | Promise<object>

/** Runs a control request; a fault in it is a 400 that names the fault. */
export function guarded(control: Control) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const query = queryOf(request)
    try {
      return await reply.send(await control(request, query))
    } catch (error) {
      const ours = error instanceof RangeError || error instanceof SyntaxError
      if (!ours && !(error instanceof UnknownSwitch)) throw error
      return reply.code(400).send({ error: error.message })
    }
  }
}

function addFaultRoutes(app: FastifyInstance, kit: FamilyKit): void {
  app.get(
    '/__sandbox/faults',
    guarded(() => ({ items: kit.board.list() })),
  )
  app.post(
    '/__sandbox/faults',
    guarded((request) => kit.board.add(ruleOf(bodyOf(request)))),
  )
  app.delete(
    '/__sandbox/faults',
    guarded(() => ({ cleared: kit.board.clear() })),
  )
  app.delete(
    '/__sandbox/faults/:id',
    guarded((request) => ({
      cleared: kit.board.clear(idInPath(request)),
    })),
  )
}

/** The routes under `/__sandbox`, which no fault touches and no counter counts. */
export function addControlRoutes(app: FastifyInstance, kit: SandboxKit): void {
  addFaultRoutes(app, kit)
  app.get(
    '/__sandbox/health',
    guarded(() => ({
      status: 'ok',
      tasks: kit.store.size,
      calls: kit.calls.size,
      clock_ms: kit.clock.nowMs(),
    })),
  )
  app.get(
    '/__sandbox/accepted',
    guarded((_request, query) =>
      acceptedPage(kit, pageIn(query), {
        family: query.get('family'),
        client_marker: query.get('client_marker'),
        safety_identifier: query.get('safety_identifier'),
      }),
    ),
  )
  app.get(
    '/__sandbox/calls',
    guarded((_request, query) => callPage(kit, query)),
  )
  app.get(
    '/__sandbox/requests',
    guarded(() => kit.counters.view()),
  )
  app.get(
    '/__sandbox/log',
    guarded((_request, query) => ({
      items: kit.requests.list(numberIn(query, 'after', 0, Number.MAX_SAFE_INTEGER)),
    })),
  )
  app.post(
    '/__sandbox/reset',
    guarded(async () => {
      await resetAll(kit)
      return { status: 'ok' }
    }),
  )
  app.post(
    '/__sandbox/clock',
    guarded((request) => {
      advanceClock(kit, Number(bodyOf(request)['advance_ms']))
      return { clock_ms: kit.clock.nowMs(), offset_ms: kit.clock.offsetMs() }
    }),
  )
}
