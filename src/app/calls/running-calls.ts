import { monotonicClock } from '../../kernel/clock.ts'
import { pause } from '../../kernel/pause.ts'
import { type Shares, SharedUse, sharesOf } from '../../kernel/sharers.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { RepeatedAnswer } from './claims/types.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Channel } from '../ports/provider.ts'
import type { RequestQuote } from '../finance/prices/tenant-prices.ts'
import { answerCall, quoteCall } from './answer-call.ts'
import type { CallDeps, CallLimits } from './deps.ts'
import type {
  CallFamily,
  CallInput,
  CompletedCall,
  StreamedCall,
  StreamFamily,
  PricingInput,
} from './family.ts'
import type { PumpedTally } from './pump.ts'
import { streamCall } from './stream.ts'
import type { PumpedChunk, StreamEnd } from './stream-ends.ts'

/** Interval at which streams are checked for callers that read nothing. */
const STALL_CHECK_MS = 5_000
const CLOSE_POLL_MS = 20
/** Calls cancelled at the deadline are looked at so often, for 5 s, without one of them ending. */
const IDLE_LOOKS = 250
/** Calls cancelled at the deadline get this long to be settled: a busy machine takes long for thousands of streams. */
const LONGEST_SETTLE_MS = 15_000

/** A stream to its caller. */
interface RunningStream {
  /** Settles when all work for the call is done. */
  readonly done: Promise<void>
  /** Milliseconds since the caller took a frame without asking for the next; 0 while it waits. */
  readonly idleMs: (nowMs: number) => number
  /** The caller disconnected: the rest is read without it. */
  readonly abandon: () => void
  /** Ends the call now and settles what was delivered. */
  readonly end: (by: StreamEnd) => void
}

/** Caller and family of the call. */
interface StartedCall {
  readonly family: string
  readonly principal: CallInput['principal']
}

/** The calls of every family in flight in this process, and their end at a shutdown. */
export interface RunningCalls {
  /**
   * Runs the use case of a call; `stopped` aborts when this process can wait no longer. The use
   * case passes a stream it begins to `watch` before it returns.
   * @throws DomainError `overloaded`, and what the use case throws
   */
  readonly run: <Result>(
    call: StartedCall,
    work: (stopped: AbortSignal) => Promise<Result>,
  ) => Promise<Result>
  readonly watch: (stream: RunningStream, principal: CallInput['principal']) => void
  /**
   * Called when a token is no longer valid: its streams end, and their delivered parts are settled.
   */
  readonly endOfToken: (tokenId: string) => void
  /** Calls that are not ended and settled yet, including those of disconnected callers. */
  readonly inFlight: () => number
  /**
   * Refuses new calls and waits for those in flight. At the deadline it cancels the rest upstream
   * and settles the received parts. False if a call was still open even then: it is not billed.
   */
  readonly close: (deadlineMs: number) => Promise<boolean>
}

function outcomeOf(error: unknown): string {
  if (error instanceof RepeatedAnswer) return 'repeated'
  return error instanceof DomainError ? error.code : 'internal'
}

export function createRunningCalls(
  deps: Pick<CallDeps, 'limits' | 'metrics'>,
  idleLooks = IDLE_LOOKS,
): RunningCalls {
  const { limits, metrics } = deps
  /** For calls whose use case has not returned yet. */
  const pending = new Set<AbortController>()
  /** Streams, with the token of each. */
  const streams = new Map<RunningStream, string>()
  const running = createRunningUse(sharesOf(limits.maxCalls))
  let closed = false
  const inFlight = () => pending.size + streams.size

  const stalls = watchStalls(streams, limits)

  return {
    run: async ({ family, principal }, work) => {
      if (closed) throw new DomainError('overloaded', 'the service is shutting down', {})
      const isFull = inFlight() >= limits.maxCalls || !running.fits(principal)
      if (isFull) throw new DomainError('overloaded', 'too many calls are running', {})
      const controller = new AbortController()
      pending.add(controller)
      const leave = running.enter(principal)
      metrics.inFlight.set(inFlight())
      try {
        return await work(controller.signal)
      } catch (error) {
        metrics.ended.inc({ family, outcome: outcomeOf(error) })
        throw error
      } finally {
        pending.delete(controller)
        leave()
        metrics.inFlight.set(inFlight())
      }
    },
    watch: (stream, principal) => {
      const { tokenId } = principal
      // The stream could not be ended while it waited for its first frame.
      if (running.hasEnded(tokenId)) stream.end('token')
      streams.set(stream, tokenId)
      const leave = running.enter(principal)
      void stream.done.then(() => {
        streams.delete(stream)
        leave()
        metrics.inFlight.set(inFlight())
      })
    },
    endOfToken: (tokenId) => {
      running.end(tokenId)
      for (const [stream, of] of streams) if (of === tokenId) stream.end('token')
    },
    inFlight,
    close: async (deadlineMs) => {
      closed = true
      const empty = await emptyWithin(inFlight, deadlineMs)
      clearInterval(stalls)
      if (empty) return true
      for (const controller of pending) controller.abort()
      for (const stream of streams.keys()) stream.end('stop')
      return emptyInSteps(inFlight, idleLooks)
    },
  }
}

async function emptyWithin(inFlight: () => number, deadlineMs: number): Promise<boolean> {
  const untilMs = monotonicClock.nowMs() + deadlineMs
  while (inFlight() > 0 && monotonicClock.nowMs() < untilMs) await pause(CLOSE_POLL_MS)
  return inFlight() === 0
}

/** Waits while some of the calls end: looks, unlike milliseconds, are no fewer on a busy machine. */
async function emptyInSteps(inFlight: () => number, idleLooks: number): Promise<boolean> {
  const untilMs = monotonicClock.nowMs() + LONGEST_SETTLE_MS
  let fewest = inFlight()
  for (let looks = 0; looks < idleLooks && monotonicClock.nowMs() < untilMs; looks += 1) {
    if (fewest === 0) break
    await pause(CLOSE_POLL_MS)
    if (inFlight() < fewest) looks = 0
    fewest = inFlight()
  }
  return inFlight() === 0
}

/** Callers that read nothing for a long time count as disconnected. */
function watchStalls(
  streams: ReadonlyMap<RunningStream, string>,
  { consumerStallMs }: Pick<CallLimits, 'consumerStallMs'>,
): NodeJS.Timeout {
  return setInterval(() => {
    const nowMs = monotonicClock.nowMs()
    for (const stream of streams.keys())
      if (stream.idleMs(nowMs) > consumerStallMs) stream.abandon()
  }, STALL_CHECK_MS).unref()
}

/** The calls of users and tenants, and which tokens ended while calls of theirs were running. */
function createRunningUse(shares: Shares) {
  const used = new SharedUse(shares)
  const ofToken = new Map<string, number>()
  const ended = new Set<string>()
  const of = (tokenId: string): number => ofToken.get(tokenId) ?? 0
  return {
    fits: (principal: CallInput['principal']): boolean => used.fits(sharerOf(principal)),
    /** Returns a function that ends it again. */
    enter: (principal: CallInput['principal']): (() => void) => {
      const { tokenId } = principal
      const sharer = sharerOf(principal)
      used.add(sharer)
      ofToken.set(tokenId, of(tokenId) + 1)
      return () => {
        used.add(sharer, -1)
        if (of(tokenId) > 1) return void ofToken.set(tokenId, of(tokenId) - 1)
        ofToken.delete(tokenId)
        ended.delete(tokenId)
      }
    },
    /** The token is no longer valid: known until its calls have ended. */
    end: (tokenId: string): void => {
      if (of(tokenId) > 0) ended.add(tokenId)
    },
    hasEnded: (tokenId: string): boolean => ended.has(tokenId),
  }
}

/** Runs, streams and prices calls of any family. */
export interface CallRunner {
  /** A whole answer; the call is settled before it resolves. */
  readonly complete: <Input extends CallInput, Request, Seen, Body>(
    family: CallFamily<Input, Request, Seen, Body>,
    input: Input,
  ) => Promise<CompletedCall<Body>>
  /** Resolves when upstream has begun to answer; `channel` is the one that answers. */
  readonly stream: <
    Input extends CallInput,
    Request,
    Seen extends PumpedTally,
    Chunk extends PumpedChunk,
    Frame,
  >(
    family: Pick<
      CallFamily<Input, Request, Seen, unknown>,
      'ready' | 'resolve' | 'prepare' | 'refusal'
    > &
      StreamFamily<Input, Request, Seen, Chunk, Frame>,
    input: Input,
  ) => Promise<StreamedCall<Frame> & { readonly channel: Channel }>
  /** The hold of a call and the SKUs its settlement can use; it reserves and sends nothing. */
  readonly quote: <Input extends CallInput, Request, Seen>(
    family: Pick<CallFamily<Input, Request, Seen, unknown>, 'ready' | 'resolve'>,
    input: PricingInput<Input> & PricingInput<CallInput>,
  ) => Promise<RequestQuote>
}

/** For `RunningCalls.run`. */
export function startedBy({
  family,
  principal,
}: Pick<CallInput, 'family' | 'principal'>): StartedCall {
  return { family, principal }
}

export function createCallRunner(deps: CallDeps, running: RunningCalls): CallRunner {
  return {
    complete: (family, input) =>
      running.run(startedBy(input), async (stopped) =>
        answerCall(deps, family, await readyIn(family, input), stopped),
      ),
    stream: (family, input) =>
      running.run(startedBy(input), async (stopped) => {
        const { streamed, pump, channel } = await streamCall(
          deps,
          family,
          await readyIn(family, input),
          stopped,
        )
        running.watch(pump, input.principal)
        return { ...streamed, channel }
      }),
    quote: async (family, input) => quoteCall(deps, family, await readyIn(family, input)),
  }
}

async function readyIn<Input extends CallInput, Asked extends PricingInput<Input>>(
  { ready }: Pick<CallFamily<Input, never, never, unknown>, 'ready'>,
  input: Asked,
): Promise<Asked> {
  return ready === undefined ? input : ready(input)
}
