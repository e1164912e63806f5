import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import type { Test } from 'tap'
import type { CallView } from '../../../../infra/sandbox/calls/store.ts'
import type { CallClaim } from '../../../../src/app/calls/claims/types.ts'
import {
  type CallDeps,
  type CallLimits,
  defaultCallLimits,
} from '../../../../src/app/calls/deps.ts'
import type { CallInput, CompletedCall, StreamedCall } from '../../../../src/app/calls/family.ts'
import {
  createCallRunner,
  createRunningCalls,
  type RunningCalls,
} from '../../../../src/app/calls/running-calls.ts'
import {
  type BreakerSettings,
  defaultBreakerSettings,
} from '../../../../src/app/channels/breaker.ts'
import { noCrash } from '../../../../src/app/crash-points.ts'
import type { Channel } from '../../../../src/app/ports/provider.ts'
import type { Limits } from '../../../../src/app/spending/throttle/limits.ts'
import type { CallEvent } from '../../../../src/domain/call/events.ts'
import {
  createJournal,
  type Journal,
  newInstanceId,
} from '../../../../src/eventlog/journal/journal.ts'
import type { JournalLimits } from '../../../../src/eventlog/journal/limits.ts'
import { openSpool } from '../../../../src/eventlog/journal/spool.ts'
import type { EventLog, RecordedEvent } from '../../../../src/eventlog/log/types.ts'
import { chatWire } from '../../../../src/families/chat/upstream/wire.ts'
import { families } from '../../../../src/families/index.ts'
import { messagesWire } from '../../../../src/families/messages/upstream/wire.ts'
import { nativeWire } from '../../../../src/families/native/upstream/wire.ts'
import { responsesWire } from '../../../../src/families/responses/upstream/wire.ts'
import { createTextFamily } from '../../../../src/families/text/calls/family.ts'
import { createKeptIds } from '../../../../src/families/text/calls/kept-ids.ts'
import type { TextCallInput, TextFrame } from '../../../../src/families/text/calls/types.ts'
import { createTextProvider } from '../../../../src/families/text/upstream/client.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { newRequestId } from '../../../../src/kernel/ids.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { watchLedger } from '../../../../src/app/spending/ledger-lag.ts'
import { until } from '../../../helpers/eventually.ts'
import { compose } from '../../../../src/start/compose.ts'
import { principalOf, startWorld, type World, type WorldOptions } from '../../support/world.ts'
import { bodyOf, type TextFamily, wires } from '../../../families/text/wires.ts'
import { sandboxTextChannels } from '../../../helpers/sandbox-channels.ts'

/** Tests break so much on purpose that a breaker would open. */
const TOLERANT: BreakerSettings = { ...defaultBreakerSettings, minimumFailures: 1_000_000 }

/** The text half of a gateway without HTTP over real parts. */
export interface TextWorld extends World {
  readonly text: (options?: TextReplicaOptions) => Promise<TextReplica>
  /** What the sandbox accepted of a client marker. */
  readonly accepted: (marker: string) => Promise<readonly CallView[]>
  /** Every call event of the log, in order. */
  readonly callEvents: () => Promise<readonly Extract<RecordedEvent, CallEvent>[]>
}

export interface TextReplicaOptions {
  readonly channels?: readonly Channel[]
  readonly limits?: Partial<CallLimits>
  readonly journal?: Partial<JournalLimits>
  readonly log?: EventLog
  readonly breaker?: BreakerSettings
  readonly deps?: Partial<CallDeps>
  readonly absorbedCostPerHour?: number
}

/** Calls of every wire of text. */
export interface TextCalls {
  readonly complete: (input: TextCallInput) => Promise<CompletedCall<JsonObject>>
  readonly stream: (input: TextCallInput) => Promise<StreamedCall<TextFrame>>
  /** Lets go of the connections upstream. */
  readonly letGo: () => Promise<void>
}

export type RunningTextCalls = TextCalls & Pick<RunningCalls, 'inFlight' | 'close'>

const SECRET = 'a secret of the tests'

/** As the surfaces of the wires make them. */
export function textCalls(deps: CallDeps, running: RunningCalls): TextCalls {
  const runner = createCallRunner(deps, running)
  const { channels } = deps
  const keptIds = createKeptIds(SECRET)
  const opened = Object.entries({
    chat: chatWire,
    responses: responsesWire,
    native: nativeWire,
    messages: messagesWire,
  }).map(([family, wire]) => [family as TextFamily, createTextProvider(wire)] as const)
  const families = new Map(
    opened.map(([family, provider]) => [
      family,
      createTextFamily({ wire: wires[family], provider, channels, keptIds }),
    ]),
  )
  const of = (input: TextCallInput) => {
    const found = families.get(input.family as TextFamily)
    if (found === undefined) throw new Error(`there is no wire ${input.family}`)
    return found
  }
  return {
    complete: async (input) => {
      const call = await runner.complete(of(input), input)
      return { ...call, body: bodyOf(call) }
    },
    stream: (input) => runner.stream(of(input), input),
    letGo: async () => void (await Promise.all(opened.map(([, { close }]) => close()))),
  }
}

export interface TextReplica {
  readonly deps: CallDeps
  readonly calls: RunningTextCalls
  readonly journal: Journal
  readonly spoolDirectory: string
}

export async function startTextWorld(t: Test, options: WorldOptions = {}): Promise<TextWorld> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-calls-'))
  const stops: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const stop of stops.toReversed()) await stop()
    await rm(directory, { recursive: true, force: true })
  })
  const world = await startWorld(t, options)
  const text = async (given: TextReplicaOptions = {}): Promise<TextReplica> => {
    const spoolDirectory = await mkdtemp(join(directory, 'spool-'))
    const clock = systemClock
    const instanceId = newInstanceId(clock.nowMs())
    const log = given.log ?? world.log
    const journal = createJournal({
      log,
      instanceId,
      logger: silentLog,
      spool: await openSpool({ directory: spoolDirectory, instanceId, logger: silentLog, clock }),
      ...(given.journal === undefined ? {} : { limits: given.journal }),
    })
    // The read models follow the log of the world.
    const lag = watchLedger(world.pool, world.log)
    // A call waits only briefly for this, and on a busy machine the read models take longer.
    await until(async () => {
      await lag.look().catch(() => undefined)
      return lag.lagMs() !== Infinity
    })
    const parts = compose({
      families,
      ownRequestsPerMinute: 60_000,
      pool: world.pool,
      log,
      channels: given.channels ?? sandboxTextChannels({ baseUrl: world.sandbox.url }),
      sandbox: true,
      markerSecret: SECRET,
      pollRequestsPerSecond: 1,
      clock,
      logger: silentLog,
      metrics: new Registry(),
      crashPoint: noCrash,
      lag,
      breaker: given.breaker ?? TOLERANT,
      ...(given.absorbedCostPerHour === undefined
        ? {}
        : { absorbedCostPerHour: given.absorbedCostPerHour }),
    })
    const deps: CallDeps = {
      ...parts.calls(instanceId),
      journal,
      limits: { ...defaultCallLimits, ...given.limits },
      ...given.deps,
    }
    const running = createRunningCalls(deps)
    const calls = { ...textCalls(deps, running), ...running }
    stops.push(async () => {
      await calls.close(5_000)
      await journal.close()
      await calls.letGo()
      await parts.stop()
    })
    return { deps, calls, journal, spoolDirectory }
  }
  return {
    ...world,
    text,
    accepted: async (marker) => {
      const url = `${world.sandbox.url}/__sandbox/calls?client_marker=${marker}&limit=1000`
      const { items } = (await (await fetch(url)).json()) as { items: readonly CallView[] }
      return items
    },
    callEvents: async () => {
      const events: Extract<RecordedEvent, CallEvent>[] = []
      for await (const event of world.log.readAll())
        if (event.type === 'CallSettled' || event.type === 'CallFailed') events.push(event)
      return events
    },
  }
}

export interface TextWish {
  readonly family?: TextFamily
  readonly model?: string
  readonly prompt?: string
  readonly tenantId?: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly callerGone?: AbortSignal
  readonly limits?: Partial<Limits>
}

/** What the API would hand over. */
export function textInput(wish: TextWish = {}): TextCallInput {
  const family = wish.family ?? 'chat'
  const prompt = wish.prompt ?? 'say something'
  const bodies: Readonly<Record<TextFamily, Readonly<Record<string, unknown>>>> = {
    chat: { messages: [{ role: 'user', content: prompt }] },
    responses: { input: [{ role: 'user', content: [{ type: 'input_text', text: prompt }] }] },
    native: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
    messages: { max_tokens: 2_048, messages: [{ role: 'user', content: prompt }] },
  }
  return {
    principal: principalOf(wish.tenantId, wish.limits),
    family,
    surface: `test.${family}`,
    requestId: newRequestId(Date.now()),
    model: wish.model ?? 'text-basic',
    body: { ...bodies[family], ...wish.body },
    inputSize: { characters: prompt.length, mediaBytes: 0, textBytes: Buffer.byteLength(prompt) },
    callerGone: wish.callerGone ?? new AbortController().signal,
  }
}

/** Every frame of a stream, and what it ended with. */
export async function collect(
  frames: AsyncIterable<TextFrame>,
): Promise<{ readonly frames: readonly TextFrame[]; readonly error: unknown }> {
  const seen: TextFrame[] = []
  try {
    for await (const frame of frames) seen.push(frame)
    return { frames: seen, error: undefined }
  } catch (error) {
    return { frames: seen, error }
  }
}

/** What the API hands over of a request with this `Idempotency-Key`. */
export function keyedBy(
  key: string,
  taken: (claim: CallClaim) => void = () => undefined,
  bodyHash = 'one body',
): Pick<CallInput, 'keyed'> {
  return { keyed: { key, path: '/v1/chat/completions', bodyHash, taken } }
}

/** What an accepted call of the sandbox has to be settled as, by billing unit. */
export function unitsOf(accepted: CallView): Readonly<Record<string, number>> {
  const { usage, tool_calls: tools } = accepted
  return {
    input:
      usage.input_tokens -
      usage.cached_input_tokens -
      usage.cache_write_5m_tokens -
      usage.cache_write_1h_tokens +
      usage.tool_prompt_tokens,
    'cached-input': usage.cached_input_tokens,
    'cache-write-5m': usage.cache_write_5m_tokens,
    'cache-write-1h': usage.cache_write_1h_tokens,
    output: usage.output_tokens,
    'web-search-call': tools['web_search'] ?? 0,
    // The sandbox has one container, however often code runs in it.
    'code-interpreter-session': Math.min(1, tools['code_interpreter'] ?? 0),
    'file-search-call': tools['file_search'] ?? 0,
  }
}
