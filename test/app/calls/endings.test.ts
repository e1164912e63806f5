import t, { type Test } from 'tap'
import { until } from '../../helpers/eventually.ts'
import { sandboxTextChannels, withTextSettings } from '../../helpers/sandbox-channels.ts'
import type { TextCallInput } from '../../../src/families/text/calls/types.ts'
import type { TextFamily } from '../../families/text/wires.ts'
import type { TextSettings } from '../../../src/families/text/settings.ts'
import type { CallEvent } from '../../../src/domain/call/events.ts'
import type { Settlement } from '../../../src/domain/pricing/settlement.ts'
import { type RunningTextCalls, startTextWorld, textInput, unitsOf } from './support/text-world.ts'

/** Every way a call can end, and what its caller is billed then. */

const world = await startTextWorld(t)
const families = ['chat', 'responses', 'native', 'messages'] as const
let marks = 0

interface Ending {
  /** How it ends: with what is billed, the title of a test. */
  readonly when: string
  /** What the caller pays; of `nothing`, what is noted as our own cost. */
  readonly billed:
    | 'billed as reported'
    | 'billed as estimated'
    | 'not billed, our cost is reported'
    | 'not billed, our cost is estimated'
  /** Switches of the sandbox. */
  readonly switches: string
  readonly families?: readonly TextFamily[]
  readonly body?: Readonly<Record<string, unknown>>
  readonly bounds?: TextSettings
  /** What ended it, if it was not the provider. */
  readonly endedBy?: string
  readonly timeoutMs?: number
  /** The process stops once this many frames have come. */
  readonly stopAfterFrames?: number
}

const SILENCE_MS = 250
const STOP_MS = 100

const streams: readonly Ending[] = [
  {
    when: 'the result is whole, with its usage',
    billed: 'billed as reported',
    switches: 'words=20',
  },
  {
    when: 'the result is whole, without its usage',
    billed: 'billed as estimated',
    switches: 'no-usage',
  },
  {
    when: 'the provider breaks off the connection',
    billed: 'not billed, our cost is estimated',
    switches: 'words=80 cut-after=10',
  },
  {
    when: 'the provider ends in order before its end',
    billed: 'not billed, our cost is estimated',
    switches: 'words=80 end-after=10',
  },
  {
    when: 'the provider breaks off after figures of a part',
    billed: 'not billed, our cost is estimated',
    families: ['chat', 'native'],
    switches: 'words=80 chunk-usage cut-after=40',
  },
  {
    when: 'the provider breaks off in its last frame',
    billed: 'not billed, our cost is estimated',
    families: ['responses', 'native', 'messages'],
    switches: 'words=20 truncated',
  },
  {
    when: 'the provider breaks off between the end of its result and its usage',
    billed: 'billed as estimated',
    families: ['chat'],
    switches: 'words=20 cut-before-usage',
  },
  {
    when: 'the provider breaks off after its usage',
    billed: 'billed as reported',
    families: ['chat'],
    switches: 'words=20 no-done',
  },
  {
    when: 'one of two alternatives is whole when the provider breaks off',
    billed: 'not billed, our cost is estimated',
    families: ['chat'],
    body: { n: 2 },
    switches: 'words=30 cut-after=40',
  },
  {
    when: 'the provider ends without a reason to stop',
    billed: 'not billed, our cost is estimated',
    families: ['messages'],
    switches: 'words=20 no-stop',
  },
  {
    when: 'the provider writes an error into the stream',
    billed: 'not billed, our cost is estimated',
    switches: 'words=40 error-after=7',
  },
  {
    when: 'the provider ends with a failed result and its usage',
    billed: 'not billed, our cost is reported',
    families: ['responses'],
    switches: 'words=20 fail=server_error usage-in-failed',
  },
  {
    when: 'the provider sends its end mark and nothing else',
    billed: 'not billed, our cost is estimated',
    families: ['chat'],
    switches: 'done-only',
  },
  {
    when: 'the provider ends its only choice with an error',
    billed: 'not billed, our cost is estimated',
    families: ['chat'],
    switches: 'words=20 fail-choice=502',
  },
  {
    when: 'the provider ends one of two choices with an error',
    billed: 'billed as reported',
    families: ['chat'],
    body: { n: 2 },
    switches: 'words=20 fail-choice=502 choices-failed=1',
  },
  {
    when: 'the provider sends a frame that cannot be read',
    billed: 'not billed, our cost is estimated',
    switches: 'words=30 malformed',
  },
  {
    when: 'the provider falls silent in the midst of the stream',
    billed: 'not billed, our cost is estimated',
    bounds: { idleTimeoutMs: SILENCE_MS },
    switches: 'words=20 stall-after=5',
  },
]

/** Only while the caller is connected: after it left, no frame is awaited. */
const attended: readonly Ending[] = [
  {
    when: 'the provider sends no first byte in time',
    billed: 'not billed, our cost is estimated',
    bounds: { firstByteTimeoutMs: SILENCE_MS },
    switches: 'hang-after-accept',
  },
  {
    when: 'the process stops',
    billed: 'billed as estimated',
    endedBy: 'stop',
    switches: 'words=40 stall-after=12',
    stopAfterFrames: 12,
  },
]

const abandoned: readonly Ending[] = [
  {
    when: 'our own bound in time ends the reading',
    billed: 'billed as estimated',
    endedBy: 'drain',
    bounds: { drainTimeoutMs: SILENCE_MS },
    switches: 'words=40 stall-after=12',
  },
  {
    when: 'our own bound in bytes ends the reading',
    billed: 'billed as estimated',
    endedBy: 'drain',
    bounds: { drainMaxBytes: 1_000 },
    switches: 'words=5000',
  },
  {
    when: 'the process stops, which also bounds the reading',
    billed: 'billed as estimated',
    endedBy: 'stop',
    switches: 'words=40 stall-after=12',
    stopAfterFrames: 12,
  },
]

/** Of calls that are not streamed; a caller who leaves changes nothing. */
const plain: readonly Ending[] = [
  { when: 'the result is whole, with its usage', billed: 'billed as reported', switches: '' },
  {
    when: 'the result is whole, without its usage',
    billed: 'billed as estimated',
    switches: 'no-usage',
  },
  {
    when: 'the provider answers with another status of success',
    billed: 'billed as reported',
    switches: 'success-status=201',
  },
  {
    when: 'the provider answers with a status of a part that is whole',
    billed: 'billed as reported',
    switches: 'success-status=206',
  },
  {
    when: 'the provider answers an only choice that failed',
    billed: 'not billed, our cost is estimated',
    families: ['chat'],
    switches: 'fail-choice=502',
  },
  {
    when: 'the provider answers two choices of which one failed',
    billed: 'billed as reported',
    families: ['chat'],
    body: { n: 2 },
    switches: 'fail-choice=502 choices-failed=1',
  },
  {
    when: 'the provider breaks off the connection',
    billed: 'not billed, our cost is estimated',
    switches: 'drop-after-accept',
  },
  {
    when: 'the provider breaks off in the midst of the answer',
    billed: 'not billed, our cost is estimated',
    switches: 'truncated',
  },
  {
    when: 'the provider answers bytes that cannot be read',
    billed: 'not billed, our cost is estimated',
    switches: 'garbage',
  },
  {
    when: 'the provider answers with an error',
    billed: 'not billed, our cost is estimated',
    switches: 'http-after-accept=500',
  },
  {
    when: 'the provider answers a failed result with its usage',
    billed: 'not billed, our cost is reported',
    families: ['responses'],
    switches: 'fail=server_error usage-in-failed',
  },
  {
    when: 'the provider does not answer in time',
    billed: 'not billed, our cost is estimated',
    timeoutMs: SILENCE_MS,
    switches: 'hang-after-accept',
  },
  {
    when: 'the process stops',
    billed: 'not billed, our cost is estimated',
    switches: 'hang-after-accept',
    stopAfterFrames: 0,
  },
]

async function useCasesFor(ending: Ending): Promise<RunningTextCalls> {
  const { timeoutMs, bounds } = ending
  const baseUrl = world.sandbox.url
  const channels = sandboxTextChannels({ baseUrl, ...(timeoutMs && { timeoutMs }) })
  const { calls } = await world.text({
    channels: channels.map((one) => withTextSettings(one, bounds ?? {})),
  })
  return calls
}

async function readStream(
  calls: RunningTextCalls,
  input: TextCallInput,
  leave: (() => void) | undefined,
): Promise<void> {
  const { frames } = await calls.stream(input)
  for await (const _frame of frames)
    if (leave !== undefined) {
      leave()
      return
    }
}

/** Makes a call end that way; returns its one event and what the sandbox knows of it. */
async function end(family: TextFamily, ending: Ending, streamed: boolean, leaves: boolean) {
  const calls = await useCasesFor(ending)
  const marker = `ending-${(marks += 1)}`
  const gone = new AbortController()
  const input = textInput({
    family,
    prompt: `[[sandbox words=16 ${ending.switches}]] [[client=${marker}]]`,
    callerGone: gone.signal,
    ...(ending.body === undefined ? {} : { body: ending.body }),
  })
  const accepted = async () => (await world.accepted(marker))[0]
  // A call that a starved machine refuses, since its log answers late, is none of these.
  await until(() => world.log.healthy())
  const leave = () => gone.abort()
  const made = streamed
    ? readStream(calls, input, leaves ? leave : undefined)
    : calls.complete(input).then(() => undefined)
  let failure: unknown
  const over = made.catch((error: unknown) => void (failure = error))
  if (leaves && !streamed) leave()
  const { stopAfterFrames } = ending
  if (stopAfterFrames !== undefined) {
    await until(async () => ((await accepted())?.frames_written ?? -1) >= stopAfterFrames)
    await calls.close(STOP_MS)
  }
  await over
  await until(() => calls.inFlight() === 0)
  const written = await writtenOf(input.requestId).catch((error: unknown) => {
    throw new Error(`${String(error)}; the caller got ${String(failure)}`)
  })
  return { written, accepted: await accepted() }
}

async function writtenOf(requestId: string): Promise<CallEvent> {
  const events = async () =>
    (await world.callEvents()).filter(({ data }) => data.requestId === requestId)
  await until(async () => (await events()).length > 0)
  const [first, ...more] = await events()
  if (first === undefined || more.length > 0) throw new Error('it is not written down once')
  return first
}

function measured(settlement: Settlement | undefined): string {
  return [...new Set(settlement?.lines.map(({ measurement }) => measurement))].join()
}

function billOf(written: CallEvent): string {
  return written.type === 'CallSettled'
    ? `billed as ${measured(written.data.settlement)}`
    : `not billed, our cost is ${measured(written.data.absorbed?.settlement)}`
}

async function check(t: Test, ending: Ending, streamed: boolean, leaves: boolean): Promise<void> {
  for (const family of ending.families ?? families) {
    const { written, accepted } = await end(family, ending, streamed, leaves)
    t.equal(billOf(written), ending.billed, family)
    if (written.type === 'CallSettled') {
      const { outcome, endedBy } = written.data
      t.equal(endedBy, ending.endedBy, family)
      t.equal(outcome, leaves || endedBy !== undefined ? 'disconnected' : 'completed', family)
    }
    if (ending.billed === 'billed as reported' && written.type === 'CallSettled')
      t.same(written.data.usage, accepted && unitsOf(accepted), family)
  }
}

for (const ending of [...streams, ...attended])
  t.test(`a stream, ${ending.when}: ${ending.billed}`, (t) => check(t, ending, true, false))
for (const ending of [...streams, ...abandoned])
  t.test(`a stream whose caller left, ${ending.when}: ${ending.billed}`, (t) =>
    check(t, ending, true, true),
  )
for (const ending of plain) {
  t.test(`a plain call, ${ending.when}: ${ending.billed}`, (t) => check(t, ending, false, false))
  t.test(`a plain call whose caller left, ${ending.when}: ${ending.billed}`, (t) =>
    check(t, ending, false, true),
  )
}
